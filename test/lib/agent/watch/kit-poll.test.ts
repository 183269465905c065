// Holds: a watch tells two sticks apart, whatever their file system says of them (lib/agent/watch/kit-poll.ts)
import { readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { kitPoll } from "../../../../lib/agent/watch/kit-poll.ts";
import type { Poll } from "../../../../lib/agent/watch/target.ts";
import { offlineSite } from "../../../support/host/offline-site.ts";

t.test("a kit of the same size and time is another one", async (t) => {
  const { target, key, root, make, folder } = await offlineSite(t);
  await target.publish("1.0.0");
  await target.publish("1.1.0");
  const [first, second] = [await make("first", ["--version", "1.0.0"]), await make("second")];
  /** Gives a file a time as FAT has them. */
  const dated = (path: string): Promise<void> => utimes(path, 1_700_000_000, 1_700_000_000);
  await dated(join(first, "kit.json"));
  const pollOf =
    (folder: string) =>
    (etag: string | undefined): ReturnType<Poll> =>
      kitPoll(
        { folder, key, allowsEnded: false },
        { kind: "project", slug: target.slug },
        root,
      )(etag, AbortSignal.timeout(30_000));
  const poll = pollOf(first);
  const told = await poll(undefined);
  t.match(told, { changed: true, latest: { version: "1.0.0" } });
  const etag = told.changed ? (told.etag ?? undefined) : undefined;
  t.strictSame(await poll(etag), { changed: false });

  // As the next stick has it, which FAT gives the same number, and the same time within two seconds.
  for (const file of ["artifact.bin", "kit.json"]) {
    const path = join(first, file);
    await writeFile(path, await readFile(join(second, file)));
    await dated(path);
  }
  t.equal((await stat(join(first, "kit.json"))).size, (await stat(join(second, "kit.json"))).size);
  t.match(await poll(etag), { changed: true, latest: { version: "1.1.0" } });
  t.match(await pollOf(join(folder, "away"))(etag), { changed: true, latest: { version: null } });
});
