import t from "tap";
import { sqlitePath } from "../../../../lib/runtime/services/sqlite.ts";

t.test("a SQLite URL is a path relative to the project root, or memory", (t) => {
  const paths = {
    "sqlite:main.db": "/root/main.db",
    "sqlite:///abs/main.db": "/abs/main.db",
    "sqlite://rel.db": "/root/rel.db",
    "file:x.db": "/root/x.db",
    "x.db": "/root/x.db",
    ":memory:": ":memory:",
    "sqlite::memory:": ":memory:",
    "sqlite://": ":memory:",
  };
  for (const [url, path] of Object.entries(paths)) t.equal(sqlitePath(url, "/root"), path, url);
  t.end();
});
