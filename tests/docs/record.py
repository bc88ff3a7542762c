# SPDX-License-Identifier: Apache-2.0
"""record.py FILE CMD...: writes down CMD and the folder it is run in, then becomes it. CMake calls it as a launcher."""
import json
import os
import sys

with open(sys.argv[1], "w", encoding="utf-8") as record:
    json.dump({"cwd": os.getcwd(), "argv": sys.argv[2:]}, record)
os.execvp(sys.argv[2], sys.argv[2:])
