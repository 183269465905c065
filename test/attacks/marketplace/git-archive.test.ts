import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import t, { type Test } from "tap";
import { fetchGitArchive, gitArchiveUrl } from "../../../lib/client/git-archive.ts";
import type { SealiftError } from "../../../lib/contract/errors.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

const TOKEN = "the-token-of-one-host";

t.test("each source host is asked at its own address", async (t) => {
  const addresses: [repository: string, ref: string, archive: string][] = [
    ["https://github.com/acme/tides", "v1.0.0", "https://github.com/acme/tides/archive/v1.0.0.zip"],
    ["https://github.com/acme/tides.git", "v1.0.0", "https://github.com/acme/tides/archive/v1.0.0.zip"],
    ["https://github.com/acme/tides/", "a/b", "https://github.com/acme/tides/archive/a/b.zip"],
    [
      "https://git.example.org/acme/tides",
      "v1 ü#?",
      "https://git.example.org/acme/tides/archive/v1%20%C3%BC%23%3F.zip",
    ],
    ["https://gitea.example.org:3000/acme/tides", "main", "https://gitea.example.org:3000/acme/tides/archive/main.zip"],
    ["https://gitlab.com/acme/tides", "v1.0.0", "https://gitlab.com/acme/tides/-/archive/v1.0.0/tides-v1.0.0.zip"],
    ["https://gitlab.com/a/b/c/tides.git", "x/y", "https://gitlab.com/a/b/c/tides/-/archive/x/y/tides-x-y.zip"],
    ["https://gitlab.example.org/acme/tides", "v1", "https://gitlab.example.org/acme/tides/-/archive/v1/tides-v1.zip"],
    ["https://notgitlab.com/acme/tides", "v1", "https://notgitlab.com/acme/tides/archive/v1.zip"],
  ];
  for (const [repository, ref, archive] of addresses) t.equal(gitArchiveUrl(repository, ref).href, archive);
});

t.test("what is not a repository's address is refused", async (t) => {
  const bad = [
    "https://github.com/",
    "https://github.com/acme",
    "https://github.com/acme/tides?x=1",
    "https://user@github.com/acme/tides",
    "https://user:word@github.com/acme/tides",
  ];
  for (const repository of bad) {
    t.throws(() => gitArchiveUrl(repository, "v1"), { kind: "ArtifactError", code: "manifest_invalid" }, repository);
    try {
      gitArchiveUrl(repository, "v1");
    } catch (error) {
      t.notOk((error as SealiftError).message.includes("word"), "a password is not told");
    }
  }
});

t.test("a ref cannot lead out of the repository's archives", async (t) => {
  for (const ref of ["../../../other/repo/archive/v1", "..", "v1/../..", "./../x", "%2e%2e/%2e%2e/x"]) {
    let path: string;
    try {
      path = gitArchiveUrl("https://github.com/acme/tides", ref).pathname;
    } catch (error) {
      t.match(error, { kind: "ArtifactError" }, ref);
      continue;
    }
    t.ok(path.startsWith("/acme/tides/archive/"), `${ref}: ${path}`);
  }
});

interface SourceHost {
  url: string;
  host: string;
  seen: IncomingMessage[];
  answer: (request: IncomingMessage, count: number) => { status: number; headers?: object; body?: string };
}

async function startHost(t: Test): Promise<SourceHost> {
  const source: SourceHost = { url: "", host: "", seen: [], answer: () => ({ status: 200, body: "PK" }) };
  const server = createServer((request, response) => {
    const { status, headers, body = "" } = source.answer(request, source.seen.push(request) - 1);
    response.writeHead(status, { ...headers }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  source.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  source.url = `http://${source.host}`;
  return source;
}

const fetchFrom = (source: SourceHost, tokens = new Map([[source.host, TOKEN]])) =>
  fetchGitArchive(`${source.url}/acme/tides`, "v1", { timeoutMs: 5000, tokens }, async (_size, body) =>
    (await buffer(body)).toString(),
  );

t.test("a token goes to its host, and to no other one behind a redirect", async (t) => {
  const [source, storage] = [await startHost(t), await startHost(t)];
  source.answer = () => ({ status: 302, headers: { location: `${storage.url}/signed?token=one` } });
  t.equal(await fetchFrom(source), "PK");
  t.match(source.seen[0]!.headers, { authorization: `token ${TOKEN}`, "private-token": TOKEN });
  const { headers } = storage.seen[0]!;
  t.strictSame([headers.authorization, headers["private-token"]], [undefined, undefined]);

  await t.test("another port is another host", async (t) => {
    source.answer = () => ({ status: 200, body: "PK" });
    source.seen.length = 0;
    await fetchFrom(
      source,
      new Map([
        [storage.host, TOKEN],
        ["127.0.0.1", TOKEN],
      ]),
    );
    t.equal(source.seen[0]!.headers.authorization, undefined);
  });
});

t.test("a redirect within the host keeps the token", async (t) => {
  const source = await startHost(t);
  source.answer = (_request, count) =>
    count === 0 ? { status: 301, headers: { location: "/acme/renamed/archive/v1.zip" } } : { status: 200, body: "PK" };
  t.equal(await fetchFrom(source), "PK");
  t.equal(source.seen[1]!.headers.authorization, `token ${TOKEN}`);
});

t.test(
  "what the source host refuses is an ArtifactError without the token, tried again where that may help",
  async (t) => {
    await Promise.all(
      [401, 403, 404, 500].map(async (status) => {
        const source = await startHost(t);
        source.answer = () => ({ status, body: JSON.stringify({ message: "no", error: `bad ${TOKEN}` }) });
        const error = await errorOf(fetchFrom(source));
        t.match(error, { kind: "ArtifactError", status });
        t.notOk(error.message.includes(TOKEN));
        t.equal(source.seen.length, status === 404 || status === 500 ? 4 : 1, `${status}`);
      }),
    );
  },
);

t.test("a token is never sent over a network without https", async (t) => {
  const tokens = new Map([["git.example.org", TOKEN]]);
  const options = { timeoutMs: 1_000, tokens };
  const fetched = fetchGitArchive("http://git.example.org/acme/tides", "v1", options, () => Promise.resolve());
  await t.rejects(fetched, { kind: "UsageError", code: "usage", message: /not sent over http/ });
});
