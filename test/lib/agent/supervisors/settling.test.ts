import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { settles } from "../../../../lib/agent/supervisors/settling.ts";
import { probe } from "../../../../lib/support/network/probe.ts";

async function served(t: Test, listener: Parameters<typeof createServer>[1]): Promise<[URL, Server]> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.teardown(() => (server.closeAllConnections(), server.close()));
  return [new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`), server];
}

t.test("three errors of its own in a row end the wait, and 503 does not", async (t) => {
  const running = async () => ({ restarts: 0 });
  const asking = (...answers: string[]) => {
    let at = 0;
    return async () => `GET http://x/ ${answers[Math.min(at++, answers.length - 1)]}`;
  };
  const begun = performance.now();
  const limits = { withinMs: 20_000, staysUpMs: 100 };
  t.match(
    await settles({ sample: running, ask: asking("failed: ECONNREFUSED", "answered 500", "answered 502"), ...limits }),
    /answered 502, [345] times in a row$/,
  );
  t.ok(performance.now() - begun < 10_000);
  const short = { withinMs: 3_500, staysUpMs: 100 };
  t.match(await settles({ sample: running, ask: asking("answered 503"), ...short }), /answered 503, for/);
  t.match(await settles({ sample: running, ask: asking("answered 404"), ...short }), /answered 404, for/);
});

t.test("a program that its supervisor starts for the first time again is not judged", async (t) => {
  const starting = { fault: "the application web is starting", restarts: 0, isFirstStart: true };
  for (const samples of [[starting], [{ restarts: 0 }, starting]]) {
    const sample = async () => samples.shift()!;
    await t.rejects(settles({ sample, ask: async () => "nobody listens there", withinMs: 5_000, staysUpMs: 100 }), {
      code: "supervisor_unavailable",
      message: "The application web is starting for the first time.",
    });
  }
  const again = async () => ({ fault: "the application web is starting", restarts: 1, isFirstStart: false });
  t.equal(await settles({ sample: again, withinMs: 5_000, staysUpMs: 100 }), "the application web is starting");
});

t.test("an answer of 2xx or 3xx is healthy, and no redirect is followed", async (t) => {
  let asked = 0;
  const [url] = await served(t, (_request, response) => {
    asked++;
    response.writeHead(302, { location: "/elsewhere" }).end("x".repeat(200_000));
  });
  t.equal(await probe(url), undefined);
  t.equal(asked, 1);
});

t.test("another status, a refusal and nonsense are not", async (t) => {
  const [url, server] = await served(t, (_request, response) => void response.writeHead(500).end());
  t.match(await probe(url), /answered 500$/);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  t.match(await probe(url), /nobody listens there/);
  const [raw] = await served(t, (request) => void request.socket.end("hello\r\n\r\n"));
  t.match(await probe(raw), /failed: Parse Error/);
});

t.test("a probe that is aborted rejects", async (t) => {
  const [url] = await served(t, () => undefined);
  const controller = new AbortController();
  const asked = probe(url, controller.signal);
  controller.abort(new Error("enough"));
  await t.rejects(asked, { message: "enough" });
});

t.test("settling", async (t) => {
  const running = async () => ({ restarts: 2 });
  const limits = { withinMs: 300, staysUpMs: 300 };

  await t.test("waits for the first healthy answer, and then for a while", async (t) => {
    let asked = 0;
    const ask = async () => (++asked < 3 ? "no" : undefined);
    t.equal(await settles({ sample: running, ask, withinMs: 5_000, staysUpMs: 100 }), undefined);
    t.ok(asked >= 4);
  });
  await t.test("ends with what is wrong when no answer comes in time", async (t) => {
    t.match(await settles({ sample: running, ask: async () => "it answered 500", ...limits }), /^it answered 500, for/);
  });
  await t.test("notices an answer that turns bad afterwards", async (t) => {
    let asked = 0;
    const ask = async () => (++asked > 1 ? "it answered 503" : undefined);
    t.equal(await settles({ sample: running, ask, ...limits }), "it answered 503");
  });
  await t.test("notices a restart and an end, while it waits and afterwards", async (t) => {
    for (const ask of [undefined, async () => "not yet"]) {
      let looked = 0;
      const restarting = async () => ({ restarts: looked++ });
      t.match(await settles({ sample: restarting, ask, ...limits }), /was restarted 1 times within 1 second$/);
      let left = 1;
      const ending = async () => (left-- > 0 ? { restarts: 0 } : { restarts: 0, fault: "it ended" });
      t.equal(await settles({ sample: ending, ask, ...limits }), "it ended");
    }
  });
});
