import t from "tap";
import { skeletonOf } from "../../../lib/contract/look-alikes.ts";

const ALIKE = [
  ["tide-table", "tide-tab1e"],
  ["vendor-plugin", "vendor-p1ugin"],
  ["tide-table", "tidetable"],
  ["tide-table", "tide_table"],
  ["tide.table", "t1detab1e"],
  ["moor", "rno0r"],
  ["wave", "vvave"],
  ["vvv", "vw"],
  ["zebras", "2ebra5"],
] as const;

const APART = [
  ["tide-table", "tide-tables"],
  ["tide-table", "ride-table"],
  ["a", "b"],
  ["n", "m"],
  ["v", "w"],
  ["13", "18"],
] as const;

t.test("slugs that look alike have one skeleton, others have two", (t) => {
  for (const [one, other] of ALIKE) t.equal(skeletonOf(one), skeletonOf(other), `${one} and ${other}`);
  for (const [one, other] of APART) t.not(skeletonOf(one), skeletonOf(other), `${one} and ${other}`);
  t.end();
});

t.test("a skeleton is its own, and never empty", (t) => {
  for (const slug of [...[...ALIKE, ...APART].flat(), "0---", "1", "2._."]) {
    t.equal(skeletonOf(skeletonOf(slug)), skeletonOf(slug), slug);
    t.not(skeletonOf(slug), "", slug);
  }
  t.end();
});
