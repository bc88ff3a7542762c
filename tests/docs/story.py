# SPDX-License-Identifier: Apache-2.0
"""The shell of a page: one bash in a folder and a home of its own, in which its blocks run in order."""
import ctypes
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from pages import Wrong

PATIENCE = 60  # seconds for one command; nothing is measured by it
PR_SET_CHILD_SUBREAPER = 36

# Reads commands that end in NUL from descriptor 9; behind the output of each writes its exit code between \1 and \2.
LOOP = r"""
while IFS= read -r -d '' -u 9 command; do
  eval "$command" 9<&- </dev/null
  printf '\001%d\002' $?
done
"""


class NoServers(Exception):
    """The page wants servers, and the system allows no network for them."""


class Story:
    def __init__(self, holdfast, around=()):
        """`around` starts the shell: what it is started in."""
        # What a command leaves behind comes to us, so that nothing outlives the page.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.around = list(around)
        self.folder = tempfile.mkdtemp(prefix="page-")
        home = os.path.join(self.folder, ".home")
        self.environment = {
            "PATH": os.path.dirname(os.path.abspath(holdfast)) + ":/usr/local/bin:/usr/bin:/bin",
            "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state"), "USER": "you", "LANG": "C.UTF-8", "TZ": "UTC",
            # Where the servers of the tests lie that were fetched.
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
        }
        os.makedirs(home, mode=0o700)
        reading, self.commands = os.pipe()
        self.shell = subprocess.Popen(
            [*around, "bash", "--noprofile", "--norc", "-c", f"exec 9<&{reading} {reading}<&-\n{LOOP}", "bash"], cwd=self.folder,
            env=self.environment, pass_fds=[reading], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        os.close(reading)
        if around:
            self._await_servers()

    def _await_servers(self):
        try:
            self.run("true", 0)
        except Wrong as wrong:
            code = self.shell.wait()
            self.end()
            if code == 77:
                raise NoServers(str(wrong)) from wrong
            raise

    def run(self, command, line):
        """(output, exit code) of a command in the page's shell."""
        os.write(self.commands, command.encode() + b"\0")
        output, end = b"", time.monotonic() + PATIENCE
        while not (done := re.search(rb"\x01(\d+)\x02", output)):
            ready, _, _ = select.select([self.shell.stdout], [], [], max(0, end - time.monotonic()))
            got = os.read(self.shell.stdout.fileno(), 65536) if ready else b""
            if not got:
                raise Wrong(line, f"`{command}` did not end in {PATIENCE} s, or ended the shell; it wrote:\n{output.decode()}")
            output += got
        return output[:done.start()].decode(errors="replace"), int(done[1])

    def until(self, command, line):
        end = time.monotonic() + PATIENCE
        while self.run(command, line)[1] != 0:
            if time.monotonic() > end:
                raise Wrong(line, f"`{command}` never came true")
            time.sleep(0.005)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)

    def end(self):
        """Ends all that still runs, however deep it hides, and takes the folder away."""
        os.close(self.commands)
        if self.around:
            self.shell.wait(PATIENCE)  # the shell ends, and then the servers
        while children := self._children():
            for child in children:
                os.kill(child, signal.SIGKILL)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        self.shell.stdout.close()
        self.shell.returncode = 0
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def _children():
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]


def steps(block):
    """(line, command, expected lines, expected code) for each command of a console block."""
    found = []
    for number, line in block.numbered:
        if line.startswith("$ "):
            found.append([number, line[2:], [], 0])
        elif not found:
            raise Wrong(number, "a console block begins with a command: a line that starts with `$ `")
        elif line.startswith("> ") and not found[-1][2]:
            found[-1][1] += "\n" + line[2:]
        elif code := re.fullmatch(r"\[exit (\d+)\]", line):
            found[-1][3] = int(code[1])
        else:
            found[-1][2].append(line.rstrip())
    return found


def matches(expected, shown):
    """Whether the lines shown are those expected, in which … stands for anything, and spaces for any number of them."""
    if not expected:
        return not shown
    if expected[0] == "…":
        return any(matches(expected[1:], shown[skip:]) for skip in range(len(shown) + 1))
    pattern = re.sub(r"(\\ )+", " +", ".*".join(re.escape(part) for part in expected[0].split("…")))
    return bool(shown) and re.fullmatch(pattern, shown[0]) is not None and matches(expected[1:], shown[1:])


def tell(block, story):
    """Runs a console block. Raises Wrong where it tells something else than the page."""
    for line, command, expected, code in steps(block):
        output, got = story.run(command, line)
        shown = [text.rstrip() for text in output.split("\n")]
        while shown and not shown[-1]:
            shown.pop()
        while expected and not expected[-1]:
            expected.pop()
        if not matches(expected, shown):
            raise Wrong(line, f"`{command}` should print\n" + "\n".join(expected) + "\nbut printed\n" + "\n".join(shown))
        if got != code:
            raise Wrong(line, f"`{command}` should end with {code}, but ended with {got}; it printed\n{output}")
