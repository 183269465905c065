/**
 * The rivals' server: GET streams a file of its folder, POST writes the body to one. Prints its port. Argument: the
 * folder.
 */
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";

const folder = process.argv[2]!;
const server = createServer((request, response) => {
  const file = join(folder, basename(request.url!));
  const done =
    request.method === "POST"
      ? pipeline(request, createWriteStream(file, { flush: true })).then(() => response.end("ok"))
      : pipeline(
          createReadStream(file, { highWaterMark: 256 * 1024 }),
          response.setHeader("content-length", statSync(file).size),
        );
  done.catch(() => response.destroy());
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
