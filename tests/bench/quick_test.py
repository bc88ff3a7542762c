#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quick_test.py BENCH STORE...: runs all workloads with --quick and looks whether the record is complete and every picture
is well-formed. Those of stores that are not named have to be skipped by name, and no others. Says nothing about speed."""
import json
import math
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"
MACHINE = {"cores": int, "processor": str, "kernel": str, "compiler": str, "build": str, "sqlite": str,
           "load_before": float}
SPREADS = ("spread", "value_spread", "reference_spread")


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def check_figure(where, figure):
    for name in ("what", "against", "unit"):
        assert figure[name], f"{where}: {name} is empty"
    assert figure["better"] in ("more", "less"), where
    for name in ("value", "reference", "ratio"):
        assert math.isfinite(figure[name]) and figure[name] > 0, f"{where}: {name} is {figure[name]}"
    for name, middle in zip(SPREADS, (figure["ratio"], figure["value"], figure["reference"])):
        spread = figure[name]
        assert spread["min"] <= spread["low"] <= middle <= spread["high"] <= spread["max"], f"{where}: {name}"


def check_picture(path):
    root = xml.parse(path).getroot()
    assert root.tag == SVG + "svg", path
    assert root.find(SVG + "title").text, f"{path} has no title"
    words = [text.text for text in root.iter(SVG + "text")]
    assert len(words) > 5 and all(words), f"{path} says too little: {words}"
    places = [float(value) for shape in root.iter() for name, value in shape.attrib.items()
              if name in ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2")]
    assert all(math.isfinite(place) for place in places), f"{path} has a shape that is nowhere"


def main():
    bench, stores = sys.argv[1], sys.argv[2:]
    everything = [line.split(None, 1) for line in run(bench, "--list").splitlines()]
    assert len(everything) == 46, everything
    absent = {store for store in ("postgres", "redis", "mongodb", "mariadb") if store not in stores}
    listed = [w for w in everything if w[0].rpartition("-")[2] not in absent]
    with tempfile.TemporaryDirectory() as out:
        table = run(bench, "--quick", "--out", out, "--seed", "7")
        with open(os.path.join(out, "bench.json"), encoding="utf-8") as file:
            record = json.load(file)
        assert record["seed"] == 7 and record["quick"] is True, record
        for name, kind in MACHINE.items():
            assert isinstance(record["machine"][name], (kind, int)), name
        done = record["workloads"]
        assert [[w["name"], w["sentence"]] for w in done] == listed, "not what --list says"
        skipped = [w["name"] for w in record["skipped"]]
        assert skipped == [w[0] for w in everything if w not in listed], f"skipped: {record['skipped']}"
        for workload in record["skipped"]:
            assert f"{workload['name']}: skipped: {workload['why']}" in table, f"not said: {workload}"
        drawn = {"overview.svg"}
        for workload in done:
            assert workload["figures"], f"{workload['name']} has no figure"
            for figure in workload["figures"]:
                check_figure(f"{workload['name']}: {figure['what']}", figure)
                assert figure["what"] in table, f"the table lacks {figure['what']}"
            assert not workload["notes"], f"{workload['name']} is not whole: {workload['notes']}"
            assert workload["store"], f"{workload['name']} does not say what it was measured on"
            drawn.update(workload["charts"])
        there = {name for name in os.listdir(out) if name.endswith(".svg")}
        assert there == drawn and len(drawn) == 1 + len(listed), f"{there} is not {drawn}"
        for name in sorted(there):
            check_picture(os.path.join(out, name))
    print(f"{len(listed)} workloads, {sum(len(w['figures']) for w in done)} figures, {len(drawn)} pictures")


if __name__ == "__main__":
    main()
