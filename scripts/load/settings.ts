/**
 * `npm run build && node scripts/load/settings.ts --hosts 1000`: how long `settings apply --all-at-once` takes until so
 * many hosts have applied their settings, and how many requests each makes for it. The hub is the built one, over HTTP,
 * on SQLite or with `--database-url` on an empty PostgreSQL. Exits with 1 above 60 seconds or five requests a host.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptArguments } from "../arguments.ts";
import { runSettingsLoad } from "./settings-run.ts";

/** Goals for 1,000 hosts. */
const MOST_SECONDS = 60;
const MOST_REQUESTS = 5;

const { values } = scriptArguments(import.meta.filename, {
  options: {
    hosts: { type: "string", default: "1000" },
    applies: { type: "string", default: "2" },
    "database-url": { type: "string" },
  },
});
const hosts = Number(values.hosts);
const folder = await mkdtemp(join(tmpdir(), "sealift-settings-"));
try {
  const { applies, errors, hubMb } = await runSettingsLoad({
    ...{ hosts, applies: Number(values.applies), folder, databaseUrl: values["database-url"] },
    onProgress: (text) => console.error(text),
  });
  for (const [index, { code, stderr, applied, seconds, requests }] of applies.entries()) {
    console.log(
      `apply ${index + 1}: ${applied} of ${hosts} hosts after ${seconds.toFixed(1)} s, ` +
        `${requests.mean.toFixed(2)} requests a host, at most ${requests.most}`,
    );
    if (code !== 0) console.error(stderr);
    const isMet = code === 0 && applied === hosts && seconds <= MOST_SECONDS && requests.most <= MOST_REQUESTS;
    if (!isMet) process.exitCode = 1;
  }
  console.log(`peak memory of the hub: ${hubMb} MB`);
  console.log(`errors: ${JSON.stringify(errors)}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
