import t from "tap";
import {
  MAX_ROOT_VERSION,
  mirroredRootIn,
  mirroredRootPath,
  rootMarkIn,
  rootMarkText,
} from "../../../../lib/contract/trust/marks.ts";

const digest = "ab".repeat(32);
const id = `rt_${"0".repeat(32)}`;

t.test("the mark of a root is read as it was written, up to the greatest version", (t) => {
  for (const version of [1, MAX_ROOT_VERSION])
    t.same(rootMarkIn(rootMarkText({ version, digest })), { version, digest });
  for (const other of [
    ...["", "1", "1:", `0:${digest}`, `01:${digest}`, `-1:${digest}`, `1:${digest.toUpperCase()}`, ` 1:${digest}`],
    ...[`1:${digest}0`, `${MAX_ROOT_VERSION + 1}:${digest}`, `9999999999:${digest}`],
  ])
    t.equal(rootMarkIn(other), undefined, other);
  t.end();
});

t.test("the path of a version at a mirror is read as it was written, and no other is", (t) => {
  for (const version of [1, MAX_ROOT_VERSION]) t.same(mirroredRootIn(mirroredRootPath(id, version)), { id, version });
  for (const other of [
    ...["", "/roots/", `/roots/${id}/0.root.json`, `/roots/../${id}/1.root.json`, `/roots/${id}/1.root.json/`],
    ...[`x/roots/${id}/1.root.json`, mirroredRootPath(id.toUpperCase(), 1), mirroredRootPath(id, MAX_ROOT_VERSION + 1)],
  ])
    t.equal(mirroredRootIn(other), undefined, other);
  t.end();
});
