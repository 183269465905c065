// Only in test:all: many requests for one rule, 9 s of a processor.
import t from "tap";
import type { ErrorKind } from "../../../lib/contract/errors.ts";
import { liedToHost } from "../../support/host/lied-to-host.ts";
import { type Answer, hangUp, html, json, stall, stallInBody } from "../../support/hub/scripted-server.ts";

const ROUTES = ["auth", "latest", "location", "authorize"] as const;
const kindOf = (route: (typeof ROUTES)[number]): ErrorKind => (route === "auth" ? "DeploymentError" : "ArtifactError");

/** Says a length and sends another one. */
const lyingLength =
  (body: string, length: number): Answer =>
  (response) => {
    response.socket!.end(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`,
    );
  };

const LIES: [name: string, answer: Answer, code: string, exitCode: number][] = [
  ["silence before the headers", stall, "timed_out", 75],
  ["silence in the body", stallInBody('{"version":'), "timed_out", 75],
  ["a dropped connection", hangUp, "connection_failed", 75],
  ["a body shorter than its length", lyingLength('{"version": "1.1.0"}', 5000), "connection_failed", 75],
  ["a body longer than its length", lyingLength('{"version": "1.1.0", "more": "…"}', 12), "bad_answer", 1],
  ["an HTML page with 200", html, "bad_answer", 1],
  ["JSON of another shape", json(200, { status: "ok" }), "bad_answer", 1],
];

t.test("a hub that is silent, hangs up, lies about lengths or answers a page ends the deployment", async (t) => {
  const cases = ROUTES.flatMap((route) => LIES.map((lie) => [route, ...lie] as const));
  // GETs and authorize are tried again, with waits between: those cases have hosts of their own, side by side.
  const groups = Object.values(
    Object.groupBy(cases, ([route, name, , , exitCode]) =>
      exitCode === 75 && route !== "auth" ? `${route} ${name}` : route,
    ),
  );
  await Promise.all(
    groups.map(async (group) => {
      const { hub, fails } = await liedToHost(t);
      for (const [route, name, answer, code, exitCode] of group!) {
        hub.answer(route, answer);
        await fails(t, `${name} on ${route}`, { kind: kindOf(route), code, exitCode }, 1000);
      }
    }),
  );
});

t.test(
  "a download of another length than signed is found by its signature, and a page is not a download",
  async (t) => {
    const { hub, fails } = await liedToHost(t);
    const fault = { kind: "ArtifactError", code: "signature_invalid", exitCode: 4 } as const;
    hub.answer("download", html);
    await fails(t, "HTML", { kind: "ArtifactError", code: "bad_answer", exitCode: 1, status: 200 });
    hub.answer("download", (response) => response.writeHead(200, { "content-length": 0 }).end());
    await fails(t, "nothing", fault);
    hub.answer("download", (response) => response.writeHead(200).end(Buffer.alloc(10_000, 1)));
    await fails(t, "no length", fault);
    hub.answer("download", (response) => response.writeHead(204).end());
    await fails(t, "204", { kind: "ArtifactError", code: "hub_refused", exitCode: 1, status: 204 });
  },
);

t.test(
  "a hub that echoes secrets or terminal commands in its error text gets neither into message or report",
  async (t) => {
    const { hub, fails, root } = await liedToHost(t);
    hub.answer("auth", (response, request) => {
      const { xdevkey } = JSON.parse(request.body.toString()) as { xdevkey: string };
      json(403, { error: `key ${xdevkey} \u001b]0;owned\u0007\u001b[2Jis bad\r\nfake line` })(response, request, 0);
    });
    await fails(t, "auth", { kind: "AuthenticationError", code: "forbidden", exitCode: 3, says: "[redacted]" });
    const { readdirSync, readFileSync } = await import("node:fs");
    const folder = `${root}/.sealift/reports/project-prj_0123456789abcdef`;
    for (const name of readdirSync(folder)) {
      const { error_message } = JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as {
        error_message: string | null;
      };
      t.notMatch(error_message ?? "", /[\u0000-\u001f\u007f-\u009f]/);
    }
  },
);

t.test("a hub that names a version that is not a label gets it into no path, message or report", async (t) => {
  const { hub, fails } = await liedToHost(t);
  for (const version of ["../../../../etc", "1.1.0\u001b[2J", "", "latest", "x".repeat(300)]) {
    hub.answer("latest", json(200, { version }));
    await fails(t, JSON.stringify(version), { kind: "ArtifactError", code: "bad_answer", exitCode: 1 });
  }
});
