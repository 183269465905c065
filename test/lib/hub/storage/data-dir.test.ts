// Holds: one hub for each data folder (lib/hub/storage/data-dir.ts)
import t from "tap";
import { openDataDir } from "../../../../lib/hub/storage/data-dir.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("a second hub on a data folder is told what hubs may share", async (t) => {
  const folder = temporaryFolder(t);
  using _first = await openDataDir(folder);
  await t.rejects(openDataDir(folder), { code: "usage", hint: /--data-dir of its own.*PostgreSQL/ });
});
