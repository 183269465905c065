import type { Writable } from "node:stream";
import t from "tap";
import { LogStream } from "../../../lib/support/logging.ts";

t.test("a line that a full disk has cut takes no other line with it", async (t) => {
  let room = 15;
  let disk = "";
  // As the standard error of a process behaves whose file fills the disk: the write that takes the last room is
  // shortened without an error, the next one fails, and later ones work again.
  const file = {
    writableLength: 0,
    on: () => undefined,
    write(text: string, done: (error?: Error) => void) {
      const fits = text.slice(0, room);
      room -= fits.length;
      disk += fits;
      done(fits === "" ? new Error("ENOSPC") : undefined);
    },
  };
  const log = new LogStream(file as unknown as Writable, (lines) => `lost ${lines}\n`);
  for (const line of ["first\n", "second, cut\n", "third\n"]) log.write(line);
  room = 1000;
  log.write("fourth\n");
  t.same(disk.split("\n"), ["first", "second, c", "fourth", "lost 1", ""]);
});
