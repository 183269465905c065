/**
 * The rivals' and the peers' server: GET streams a file below its folder, POST writes the body to one. Prints its port.
 * Argument: the folder. Not Python's own server of files: behind that one casync takes 33 ms for each of its chunks.
 */
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

const folder = process.argv[2]!;
const server = createServer((request, response) => {
  const file = join(folder, new URL(request.url!, "http://localhost").pathname);
  if (request.method === "POST") {
    pipeline(request, createWriteStream(file, { flush: true })).then(
      () => response.end("ok"),
      () => response.destroy(),
    );
    return;
  }
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) {
    response.writeHead(404).end();
    return;
  }
  response.setHeader("content-length", stats.size);
  pipeline(createReadStream(file, { highWaterMark: 256 * 1024 }), response).catch(() => response.destroy());
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
