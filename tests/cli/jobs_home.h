// SPDX-License-Identifier: Apache-2.0
// jobs_home.h - a home with a folder of handlers.
#pragma once
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/home.h"

namespace holdfast::test {

class JobsHome : public HomeOn {
 protected:
  JobsHome() { std::filesystem::create_directory(path("handlers")); }

  // A shell script in the folder of handlers.
  void handler(const std::string& name, const std::string& script) const {
    const std::string file = path("handlers/" + name);
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  // holdfast jobs enqueue WORDS: the number of the job.
  std::string enqueue(Words words) const {
    words.insert(words.begin(), {"jobs", "enqueue"});
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out.substr(0, ended.out.find('\n'));
  }
  Words work(const Words& options = {}) const {
    Words words{"jobs", "work", "--exec", "handlers/{name}"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
  Ended work_once(Words options = {}) const {
    options.push_back("--once");
    return holdfast(work(options));
  }
  nlohmann::json job(const std::string& id) const {
    const Ended ended = holdfast({"jobs", "show", id, "--json"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return nlohmann::json::parse(ended.out, nullptr, false);
  }
  std::string state(const std::string& id) const { return job(id).value("state", "?"); }
  static std::vector<nlohmann::json> lines_of(const std::string& text) {
    std::istringstream lines(text);
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  bool await_file(const std::string& name) const {
    return await([&] { return !text_of(name).empty(); });
  }
};

}  // namespace holdfast::test
