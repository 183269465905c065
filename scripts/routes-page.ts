import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHub } from "../lib/hub/hub.ts";

/** `docs/contract/routes.md`: every route of the hub, as the hub itself describes it. */

const INTRODUCTION = `# Routes of the hub

For people who look for a route, or check that none is missing: this page has all of them. Made from the hub's OpenAPI document by \`npm run docs\`.
The same document with fields and answers is under \`/openapi.json\` of each hub. Routes under \`/devkeys\` are under
\`/app/devkeys\` as well.

| route | credential | what it does |
| --- | --- | --- |
`;

interface Operation {
  summary?: string;
  security?: Record<string, unknown>[];
}

const CREDENTIALS: Record<string, string> = { apiKey: "key", session: "session" };

/** Describes the credentials of which a caller needs one. */
const credentialOf = ({ security = [] }: Operation): string =>
  security.length === 0
    ? "none"
    : security.map((one) => Object.keys(one).map((name) => CREDENTIALS[name] ?? name)[0] ?? "none").join(" or ");

/** Starts a hub in a folder of its own and writes the table of its routes. */
export async function routesPage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sealift-routes-"));
  const hub = await createHub({ listen: { host: "127.0.0.1", port: 0 }, dataDir: folder });
  try {
    const answer = await fetch(`${await hub.listen()}/openapi.json`);
    const { paths } = (await answer.json()) as { paths: Record<string, Record<string, Operation>> };
    const rows = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => method !== "head" && !path.startsWith("/app/devkeys/"))
        .map(
          ([method, operation]) =>
            `| \`${method.toUpperCase()} ${path}\` | ${credentialOf(operation)} | ${operation.summary ?? ""} |`,
        ),
    );
    return `${INTRODUCTION}${rows.join("\n")}\n`;
  } finally {
    await hub.close();
    await rm(folder, { recursive: true, force: true });
  }
}
