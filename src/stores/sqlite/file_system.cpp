// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/file_system.h"

#include <sys/vfs.h>

#include <span>

namespace holdfast::sqlite {
namespace {

struct FileSystem {
  std::uint32_t kind;
  const char* name;
};
// linux/magic.h, and the manuals of those that are not in the kernel.  Several machines see the same file in
// most of them.  FUSE may be anything, virtiofs and sshfs included.
constexpr FileSystem unsafe[] = {
    {0x00006969, "NFS"},   {0x0000517B, "SMB"},    {0xFF534D42, "SMB"},    {0xFE534D42, "SMB"},
    {0x0000564C, "NCP"},   {0x73757245, "Coda"},   {0x5346414F, "AFS"},    {0x6B414653, "AFS"},
    {0x01021997, "9p"},    {0x65735546, "FUSE"},   {0x00C36400, "Ceph"},   {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},  {0x01161970, "GFS2"},   {0x7461636F, "OCFS2"},  {0x19830326, "BeeGFS"},
    {0xAAD7AAEA, "PanFS"}, {0x786F4256, "vboxsf"}, {0xBACBACBC, "vmhgfs"},
};

constexpr FileSystem passing[] = {
    {0x01021994, "tmpfs"}, {0x858458F6, "ramfs"}, {0x794C7630, "overlayfs"}, {0x61756673, "aufs"}};

const char* name_in(std::span<const FileSystem> table, std::uint32_t kind) {
  for (const FileSystem& system : table) {
    if (system.kind == kind) return system.name;
  }
  return nullptr;
}

}  // namespace

std::uint32_t file_system_of(const std::string& path) {
  struct statfs found {};
  return ::statfs(path.c_str(), &found) == 0 ? static_cast<std::uint32_t>(found.f_type) : 0;
}

const char* unsafe_file_system(std::uint32_t kind) noexcept { return name_in(unsafe, kind); }

const char* passing_file_system(std::uint32_t kind) noexcept { return name_in(passing, kind); }

}  // namespace holdfast::sqlite
