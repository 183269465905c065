import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { FastifyPluginCallback } from "fastify";
import { notFound } from "../../hub/base/errors.ts";
import { compressed } from "./compression.ts";

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#2b8aa5" stroke-width="1.75" ' +
  'stroke-linejoin="round"><path d="M3 14h18l-3 6H6zM7 14V9h4v5M13 14V5h4v9"/></svg>';

interface Asset {
  path: string;
  type: string;
  bytes: Buffer;
}

/** Names a file by its content, so that browsers can cache it for good. */
function asset(stem: string, extension: string, type: string, bytes: Buffer): Asset {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  return { path: `/assets/${stem}-${hash}.${extension}`, type, bytes };
}

/** Reads a file that the build puts beside the bundle. */
const read = (name: string): Buffer => readFileSync(new URL(`./${name}`, import.meta.url));

const style = asset("page", "css", "text/css; charset=utf-8", read("page.css"));
const script = asset("page", "js", "text/javascript; charset=utf-8", read("page.js"));
const icon = asset("icon", "svg", "image/svg+xml", Buffer.from(ICON));

/** Paths of the files that pages use. */
export const ASSETS = { style: style.path, script: script.path, icon: icon.path };

const byPath = new Map([style, script, icon].map((each) => [each.path, each]));

/** Serves the files that pages use, the same for everybody. */
export const assets: FastifyPluginCallback = (app, _options, done) => {
  app.get("/assets/:name", { schema: { hide: true } }, async (request, reply) => {
    const { name } = request.params as { name: string };
    const found = byPath.get(`/assets/${name}`);
    if (found === undefined) throw notFound("There is no such file.");
    const { bytes, encoding } = compressed(request.headers["accept-encoding"], found.bytes);
    return reply
      .headers({
        "content-type": found.type,
        "cache-control": "public, max-age=31536000, immutable",
        vary: "Accept-Encoding",
        "cross-origin-resource-policy": "same-origin",
        ...(encoding !== undefined && { "content-encoding": encoding }),
      })
      .send(bytes);
  });
  done();
};
