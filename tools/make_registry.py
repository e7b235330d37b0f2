"""Write ``lib/sentbook/data/registry.json`` from the ``MANIFEST.json`` files of a mirror folder.

    python tools/make_registry.py ../shared/data

Only files that a reader opens are kept, and the licences and attributions that must travel with them. A file has an
address when the mirror's copy equals, byte for byte, one file of a public repository at a pinned commit. The others
(members of an archive, conversions, joins) have ``url: null`` and say where their rows come from.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import quote

READ = [
    "eval/sts201[2-6]/*",
    "eval/sts2012-train/*",
    "eval/stsbenchmark/*",
    "eval/sick2014/*",
    "eval/msrp/*",
    "eval/mr/*",
    "eval/cr/*",
    "eval/subj/*",
    "eval/mpqa/*",
    "eval/trec/*",
    "eval/human-activity/*",
    "eval/short-answer-grading/sag_v2_flat.tsv",
    "eval/short-answer-grading/README",
    "train/bible/*",
    "train/captions/train.[1-5].en.gz",
    "train/nli/*",
    "train/novels/*",
    "train/parasci/*",
    "train/ppdb/ppdb-1.0-m-lexical.pairs.tsv.gz",
    "train/ppdb/ppdb-1.0-xxxl-lexical.uniquepairs.t*",
    "train/ppdb/ppdb-2.0-xxl-lexical.equivalence.tsv.gz",
    "train/quora/*",
    "train/simplification/*",
    "train/twitter_url/*",
    "vectors/*",
]
NOT_READ = ["eval/msrp/senteval/*"]

PAPERS = {
    "eval/sts2012": "Agirre et al. 2012, SemEval-2012 Task 6",
    "eval/sts2012-train": "Agirre et al. 2012, SemEval-2012 Task 6",
    "eval/sts2013": "Agirre et al. 2013, *SEM shared task",
    "eval/sts2014": "Agirre et al. 2014, SemEval-2014 Task 10",
    "eval/sts2015": "Agirre et al. 2015, SemEval-2015 Task 2",
    "eval/sts2016": "Agirre et al. 2016, SemEval-2016 Task 1",
    "eval/stsbenchmark": "Cer et al. 2017, SemEval-2017 Task 1",
    "eval/sick2014": "Marelli et al. 2014, SemEval-2014 Task 1",
    "eval/msrp": "Dolan and Brockett 2005",
    "eval/mr": "Pang and Lee 2005",
    "eval/cr": "Hu and Liu 2004",
    "eval/subj": "Pang and Lee 2004",
    "eval/mpqa": "Wiebe, Wilson and Cardie 2005",
    "eval/trec": "Li and Roth 2002",
    "eval/human-activity": "Wilson and Mihalcea 2017; Zhang, Wilson and Mihalcea 2018",
    "eval/short-answer-grading": "Mohler, Bunescu and Mihalcea 2011",
    "train/bible": "Carlson, Riddell and Rockmore 2018",
    "train/captions": "Young et al. 2014 (Flickr30k); Elliott et al. 2016 (Multi30k)",
    "train/nli": "Bowman et al. 2015; Kaushik et al. 2020; Saha et al. 2020; Zhang et al. 2017; Poliak et al. 2018",
    "train/novels": "100 English novels, Computational Stylistics Group",
    "train/parasci": "Dong, Wan and Cao 2021",
    "train/ppdb": "Ganitkevitch, Van Durme and Callison-Burch 2013",
    "train/quora": "Iyer, Dandekar and Csernai 2017",
    "train/simplification/turk_asset": "Xu et al. 2016 (TurkCorpus); Alva-Manchego et al. 2020 (ASSET)",
    "train/simplification/wiki_simple": "Xu et al. 2016; Zhu et al. 2010 (PWKP); Zhang and Lapata 2017 (WikiLarge)",
    "train/simplification/wikisplit": "Botha et al. 2018 (WikiSplit); Filippova and Altun 2013 (compression)",
    "train/simplification/onestop": "Vajjala and Lucic 2018 (OneStopEnglish)",
    "train/twitter_url": "Lan et al. 2017",
    "vectors/glove": "Pennington, Socher and Manning 2014",
    "vectors/googlenews": "Mikolov et al. 2013; Bolukbasi et al. 2016",
}


def wanted(file: str) -> bool:
    """Whether a reader opens this file, or its licence asks that it travel along."""
    folder = file.rsplit("/", 1)[0]
    patterns = [p for p in READ if fnmatch(file, p) and (fnmatch(folder, p.rsplit("/", 1)[0]) or "/raw/" in file)]
    return bool(patterns) and not any(fnmatch(file, p) for p in NOT_READ)


def address(kind: str, row: dict) -> str | None:
    """The pinned raw address of a byte-for-byte copy, else None."""
    path, notes = row.get("source_path") or "", row.get("notes") or ""
    if not (row.get("source_repo") and row.get("source_commit")) or "!" in path or "DERIVED" in notes:
        return None
    copied = notes.startswith("byte-for-byte copy") if kind == "train" else not row["file"].endswith(".tar.gz")
    if not copied:
        return None
    return f"https://raw.githubusercontent.com/{row['source_repo']}/{row['source_commit']}/{quote(path)}"


def source(row: dict) -> str:
    """Where the rows come from, in words, for a file that has no address of its own."""
    if row.get("source_repo"):
        return f"made from {row['source_path']} of github.com/{row['source_repo']} at {row['source_commit'][:12]}"
    return row.get("source") or row.get("original_url") or "several public sources"


def entries(mirror: Path) -> dict[str, dict]:
    """One entry a file: bytes, sha256, licence, paper, address, source."""
    found = {}
    for kind in ("eval", "train", "vectors"):
        for row in json.loads((mirror / kind / "MANIFEST.json").read_text("utf-8")):
            file = f"{kind}/{row['file']}"
            if not wanted(file):
                continue
            pinned = address(kind, row)
            papers = [PAPERS[start] for start in sorted(PAPERS, key=len) if file.startswith(start)]
            found[file] = {
                "bytes": row["bytes"],
                "sha256": row["sha256"],
                "licence": row.get("license_or_terms") or row.get("terms"),
                "paper": papers[-1] if papers else "",
                "url": pinned,
                "source": "copy" if pinned else f"only from a mirror; {source(row)}",
            }
    return dict(sorted(found.items()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/make_registry.py MIRROR_FOLDER")
    registry = entries(Path(sys.argv[1]))
    target = Path(__file__).resolve().parents[1] / "lib" / "sentbook" / "data" / "registry.json"
    target.write_text(json.dumps(registry, indent=1, ensure_ascii=False) + "\n", "utf-8")
    pinned = sum(entry["url"] is not None for entry in registry.values())
    print(f"{len(registry)} files, {pinned} with an address, {sum(e['bytes'] for e in registry.values()) / 1e6:.0f} MB")
