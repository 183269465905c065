import { createHash, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { DeployClient } from "../../../lib/client/deploy-client.ts";
import type { SealiftError } from "../../../lib/contract/errors.ts";
import { forgedSigner, signedFile } from "../../support/forged/artifact.ts";
import { honestBytes, type LyingHub, startLyingHub } from "../../support/hub/lying-hub.ts";
import { type Answer, hangUp, html, json, redirect, stall } from "../../support/hub/scripted-server.ts";
import { API_KEY, PROJECT, readAll } from "../../support/hub/surface-b.ts";

const artifact = signedFile(randomBytes(1_500_000), forgedSigner());
const bytes = artifact.file;

/** Sends headers and part of the body, as `from` and `to` say, then drops the connection. */
const dropsAt =
  (to: number, etag: string | null = '"one"'): Answer =>
  (response: ServerResponse, { headers }) => {
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, {
      ...(etag !== null && { etag }),
      "content-length": bytes.length - from,
      ...(from > 0 && { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    });
    response.write(bytes.subarray(from, to), () => setTimeout(() => response.destroy(), 50));
  };

interface Outcome {
  bytes?: Buffer;
  error?: SealiftError;
  resumed: number[];
}

async function download(hub: LyingHub, options: { timeoutMs?: number; maxBytes?: number } = {}): Promise<Outcome> {
  const { timeoutMs = 5000, maxBytes = 2 ** 30 } = options;
  const client = new DeployClient(PROJECT, { hubUrl: hub.url, apiKey: API_KEY, timeoutMs });
  const resumed: number[] = [];
  const stream = client.download("1.0.0", await client.locate("1.0.0"), {
    maxBytes,
    onResumed: (received) => resumed.push(received),
  });
  try {
    return { bytes: await readAll(stream as AsyncIterable<Buffer>), resumed };
  } catch (error) {
    return { error: error as SealiftError, resumed };
  }
}

const sha = (content: Buffer | undefined) =>
  createHash("sha256")
    .update(content ?? "")
    .digest("hex");

/** Runs a scripted download in a hub of its own. */
async function scripted(t: Test, answers: Answer[], options?: Parameters<typeof download>[1]) {
  const hub = await startLyingHub(t, { artifact });
  hub.answer("download", ...answers);
  return { hub, ...(await download(hub, options)) };
}

// Resuming waits half a second and longer: everything here runs side by side.
t.jobs = 30;
const concurrently = (name: string, body: (t: Test) => Promise<unknown>) => t.test(name, { buffered: true }, body);

concurrently("a dropped connection is taken up with Range and If-Range, and the bytes are the same", async (t) => {
  const { hub, bytes: got, resumed } = await scripted(t, [dropsAt(400_000), dropsAt(900_000), honestBytes(bytes)]);
  t.equal(sha(got), sha(bytes));
  t.equal(resumed.length, 2);
  const [first, second, third] = hub.to("download").map(({ headers }) => headers);
  t.equal(first!.range, undefined);
  t.equal(second!.range, `bytes=${resumed[0]}-`);
  t.equal(third!.range, `bytes=${resumed[1]}-`);
  t.equal(second!["if-range"], '"one"');
  t.equal(second!["accept-encoding"], "identity");
});

concurrently("a server that ignores Range is read again from its start, and no byte comes twice", async (t) => {
  const whole: Answer = (response) => {
    response.writeHead(200, { etag: '"one"', "content-length": bytes.length });
    response.end(bytes);
  };
  const { bytes: got } = await scripted(t, [dropsAt(700_001), whole]);
  t.equal(sha(got), sha(bytes));
});

concurrently("a weak or missing validator is not sent as If-Range", async (t) => {
  for (const etag of ['W/"weak"', null]) {
    const { hub, bytes: got } = await scripted(t, [dropsAt(400_000, etag), honestBytes(bytes, etag)]);
    t.equal(sha(got), sha(bytes));
    t.equal(hub.to("download")[1]!.headers["if-range"], undefined);
  }
});

concurrently("another ETag in the middle ends the download: these are other bytes", async (t) => {
  for (const answer of [honestBytes(bytes, '"two"'), dropsAt(bytes.length, '"two"')]) {
    const { error } = await scripted(t, [dropsAt(400_000), answer]);
    t.match(error, { kind: "ArtifactError", code: "artifact_changed", exitCode: 75 });
  }
});

concurrently("an address that has expired while resuming is asked for again", async (t) => {
  for (const status of [401, 403, 404, 410]) {
    const hub = await startLyingHub(t, { artifact });
    hub.answer("download", dropsAt(400_000), json(status, { error: "expired" }), honestBytes(bytes));
    const { bytes: got } = await download(hub);
    t.equal(sha(got), sha(bytes), `${status}`);
    t.equal(hub.to("location").length, 2);
  }
});

concurrently("an address that was never good is not asked for again and again", async (t) => {
  for (const status of [401, 403, 404, 410]) {
    const { hub, error } = await scripted(t, [json(status, { error: "no such blob" })]);
    t.match(error, { kind: "ArtifactError", status, message: /no such blob/ });
    t.equal(hub.to("download").length, 1);
  }
  const { hub, error } = await scripted(t, [dropsAt(400_000), json(403, { error: "expired" })]);
  t.match(error, { code: "forbidden", status: 403 }, "a fresh address that is refused as well");
  t.equal(hub.to("download").length, 3);
});

concurrently("a server that asks to wait is asked again no sooner", async (t) => {
  const started = performance.now();
  const { bytes: got } = await scripted(t, [json(503, {}, { "retry-after": "3" }), honestBytes(bytes)]);
  t.equal(sha(got), sha(bytes));
  t.ok(performance.now() - started >= 2990);
});

concurrently(
  "429 and 500 are tried again without losing a byte; given up, they keep their kind and code",
  async (t) => {
    const { bytes: got } = await scripted(t, [
      dropsAt(400_000),
      json(503, {}),
      json(429, {}, { "retry-after": "0" }),
      honestBytes(bytes),
    ]);
    t.equal(sha(got), sha(bytes));
  },
);

for (const [status, code] of [
  [429, "rate_limited"],
  [500, "hub_unavailable"],
] as const) {
  concurrently(`${status} for ever is given up`, async (t) => {
    const { error, hub } = await scripted(t, [json(status, { error: "not today" })]);
    t.match(error, { kind: "ArtifactError", code, status, exitCode: 75, message: /not today/ });
    t.ok(hub.to("download").length <= 5);
  });
}

concurrently("a server that drops every connection without a byte is given up", async (t) => {
  const { error, hub } = await scripted(t, [hangUp]);
  t.match(error, { kind: "ArtifactError", code: "connection_failed", exitCode: 75 });
  // The first goes over the connection that located it, and once more over another one.
  t.ok(hub.to("download").length <= 6);
});

concurrently("a server that promises more than it sends, again and again, is given up", async (t) => {
  const { error } = await scripted(t, [
    (response, { headers }) => {
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
      response.writeHead(from > 0 ? 206 : 200, {
        etag: '"one"',
        "content-length": bytes.length + 1000 - from,
        ...(from > 0 && { "content-range": `bytes ${from}-${bytes.length + 999}/${bytes.length + 1000}` }),
      });
      response.write(bytes.subarray(from), () => setTimeout(() => response.destroy(), 20));
    },
  ]);
  t.match(error, { kind: "ArtifactError", exitCode: 75 });
  t.ok(["download_incomplete", "connection_failed"].includes(error!.code), error!.code);
});

concurrently("a server that promises less than it sends gives only what it promised", async (t) => {
  const { bytes: got, error } = await scripted(t, [
    (response) => {
      response.socket!.write(`HTTP/1.1 200 OK\r\ncontent-length: 1000\r\netag: "one"\r\n\r\n`);
      response.socket!.end(bytes.subarray(0, 5000));
    },
  ]);
  // The parser stops at the promised length: what came is too short, and the signature says so.
  if (error === undefined) t.equal(got!.length, 1000);
  else t.match(error, { kind: "ArtifactError" });
});

concurrently("another range than the one asked for is not taken for ours", async (t) => {
  const wrong: Answer = (response) => {
    response.writeHead(206, {
      etag: '"one"',
      "content-length": 1000,
      "content-range": `bytes 0-999/${bytes.length}`,
    });
    response.end(bytes.subarray(0, 1000));
  };
  const { bytes: got } = await scripted(t, [dropsAt(400_000), wrong, honestBytes(bytes)]);
  t.equal(sha(got), sha(bytes));
});

concurrently("an artifact larger than any can be is refused before its body", async (t) => {
  const { error } = await scripted(t, [honestBytes(bytes)], { maxBytes: 1000 });
  t.match(error, { kind: "ArtifactError", code: "limit_exceeded", exitCode: 4 });
});

concurrently("an endless body without a length is cut at what an artifact can have", async (t) => {
  const endless: Answer = (response) => {
    response.writeHead(200, { "transfer-encoding": "chunked" });
    const more = (): void => {
      while (!response.destroyed && response.write(bytes));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };
  const { error } = await scripted(t, [endless], { maxBytes: 20_000_000 });
  t.match(error, { kind: "ArtifactError", code: "limit_exceeded", exitCode: 4 });
});

concurrently("silence before the headers, and in the middle of the body, ends at the time-out", async (t) => {
  const inBody: Answer = (response) => {
    response.writeHead(200, { etag: '"one"', "content-length": bytes.length });
    response.write(bytes.subarray(0, 1000));
  };
  for (const answers of [
    [stall, honestBytes(bytes)],
    [inBody, honestBytes(bytes)],
  ]) {
    const { bytes: got, hub } = await scripted(t, answers, { timeoutMs: 400 });
    t.equal(sha(got), sha(bytes), "and is taken up again");
    t.equal(hub.to("download").length, 2);
  }
  const { error } = await scripted(t, [stall], { timeoutMs: 200 });
  t.match(error, { kind: "ArtifactError", code: "timed_out", exitCode: 75 });
});

concurrently("a slow body that never falls silent is never cut off", async (t) => {
  const slow: Answer = (response) => {
    response.writeHead(200, { etag: '"one"', "content-length": 20 });
    let sent = 0;
    const timer = setInterval(() => {
      response.write(bytes.subarray(sent, sent + 1));
      sent++;
      if (sent === 20) {
        clearInterval(timer);
        response.end();
      }
    }, 200);
  };
  const { bytes: got, hub } = await scripted(t, [slow], { timeoutMs: 2000 });
  t.strictSame(got, bytes.subarray(0, 20));
  t.equal(hub.to("download").length, 1);
});

concurrently("a compressed transfer is refused or taken as it is, never decoded", async (t) => {
  const { gzipSync } = await import("node:zlib");
  const zipped = gzipSync(bytes.subarray(0, 5000));
  const { bytes: got } = await scripted(t, [
    (response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-length": zipped.length });
      response.end(zipped);
    },
  ]);
  t.ok(got!.equals(zipped), "the signature is over the bytes as they are stored");
});

concurrently("an HTML page instead of bytes is not an artifact", async (t) => {
  const { error } = await scripted(t, [html]);
  t.match(error, { kind: "ArtifactError", code: "bad_answer", status: 200, message: /web page/ });
});

concurrently("a redirect of the download is followed, also while resuming", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const storage = await startLyingHub(t, { artifact });
  hub.answer("download", redirect(302, `${storage.url}/download`));
  storage.answer("download", dropsAt(400_000), honestBytes(bytes));
  const { bytes: got } = await download(hub);
  t.equal(sha(got), sha(bytes));
  t.equal(hub.to("download").length, 2, "the hub is asked again, in case its redirect expires");
});

concurrently("a reader that stops ends the transfer", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const closed = Promise.withResolvers<void>();
  hub.answer("download", (response) => {
    response.writeHead(200, { "content-length": 1e9 });
    response.write(bytes);
    response.once("close", () => closed.resolve());
  });
  const client = new DeployClient(PROJECT, { hubUrl: hub.url, apiKey: API_KEY, timeoutMs: 5000 });
  const stream = client.download("1.0.0", await client.locate("1.0.0"), { maxBytes: 2e9 });
  await stream.next();
  await stream.return(undefined);
  await closed.promise;
  t.pass("the connection is closed");
});
