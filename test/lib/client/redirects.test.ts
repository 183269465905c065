import t from "tap";
import { forgedArtifact, forgedSigner } from "../../support/forged/artifact.ts";
import { startLyingHub, trustedCertificate } from "../../support/hub/lying-hub.ts";
import { json, redirect } from "../../support/hub/scripted-server.ts";
import { API_KEY, callers, CREDENTIAL, errorOf, type OperationName } from "../../support/hub/surface-b.ts";

const artifact = forgedArtifact(Buffer.alloc(200_000, 5), forgedSigner());
const OPERATIONS: OperationName[] = ["auth", "latest", "location", "authorize", "report", "publish", "download"];
const SECRET_BODIES = new Set<OperationName>(["auth", "authorize", "publish"]);

t.test("a redirect on the same origin is followed on every route, with method, body and credentials", async (t) => {
  for (const status of [301, 302, 307, 308]) {
    for (const operation of OPERATIONS) {
      const hub = await startLyingHub(t, { artifact });
      hub.answer(
        operation,
        redirect(status, ({ path }) => `/moved${path}`),
        // The truth from the second request on.
        (response, request, count) => {
          hub.answer(operation);
          startTruth(response, request, count);
        },
      );
      const startTruth: Parameters<typeof hub.answer>[1] = (response) => {
        // Sends the client once more, now to the true route.
        response.writeHead(status, { location: hub.requests.at(-1)!.path.replace("/moved", "/again") });
        response.end();
      };
      // The routes are recognised by their ends, so /again/… is answered like the original.
      const calls = callers(t, { hubUrl: hub.url, artifact });
      if (operation === "download") {
        // `/moved/download` is not a download any more: one redirect is enough here.
        hub.answer("download", redirect(status, "/download?again=yes"), (response, request, count) => {
          hub.answer("download");
          void count;
          response.writeHead(200, { "content-length": artifact.file.length });
          response.end(request.path.includes("again") ? artifact.file : "");
        });
      }
      await calls[operation]();
      const requests = hub.to(operation);
      t.ok(requests.length >= 2, `${operation} ${status}`);
      const [first, last] = [requests[0]!, requests.at(-1)!];
      t.equal(last.method, first.method);
      t.equal(last.headers["x-api-key"], first.headers["x-api-key"]);
      t.equal(last.headers.authorization, first.headers.authorization);
      t.equal(last.body.length, first.body.length, "the whole body again");
      if (operation === "publish") t.ok(last.body.includes(artifact.file), "the file is sent again");
    }
  }
});

t.test("303 turns into a GET without a body", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  hub.answer("report", redirect(303, "/app/deploy/v1/deployments/report?done=1"), json(200, { deployment_id: "d" }));
  await callers(t, { hubUrl: hub.url, artifact }).report();
  t.match(
    hub.to("report").map(({ method, body }) => [method, body.length > 0]),
    [
      ["POST", true],
      ["GET", false],
    ],
  );
});

t.test("ten redirects are followed, eleven are not", async (t) => {
  for (const operation of ["latest", "report", "publish"] as const) {
    const hub = await startLyingHub(t, { artifact });
    const chain = (last: number) => (_request: unknown, count: number) => (count < last ? `?hop=${count}` : "?last");
    const answers = (redirects: number, truth: Parameters<typeof hub.answer>[1]) => [
      ...Array.from({ length: redirects }, () => redirect(307, chain(redirects))),
      truth,
    ];
    const bodies = {
      latest: { version: "1.0.0" },
      report: { deployment_id: "d" },
      publish: {
        ...{ artifact_id: "a", project_id: "p", version: "1.0.0", content_sha256: "c", size_bytes: 1, created_at: "n" },
      },
    };
    hub.answer(operation, ...answers(10, json(200, bodies[operation])));
    await callers(t, { hubUrl: hub.url, artifact })[operation]();
    t.equal(hub.to(operation).length, 11, `${operation}: ten`);

    hub.answer(operation, ...answers(11, json(200, bodies[operation])));
    const error = await errorOf(callers(t, { hubUrl: hub.url, artifact })[operation]());
    t.match(error, { code: "redirect_loop", exitCode: 1 }, `${operation}: eleven`);
  }
});

t.test("a loop is recognised on every route, long before ten redirects", async (t) => {
  for (const operation of OPERATIONS) {
    const hub = await startLyingHub(t, { artifact });
    hub.answer(
      operation,
      redirect(302, ({ path }) => path),
    );
    t.match(await errorOf(callers(t, { hubUrl: hub.url, artifact })[operation]()), { code: "redirect_loop" });
    t.equal(hub.to(operation).length, 1, `${operation}: to itself`);

    hub.answer(
      operation,
      redirect(307, ({ path }) => (path.includes("?b") ? path.replace("?b", "?a") : `${path.split("?")[0]}?b`)),
    );
    t.match(await errorOf(callers(t, { hubUrl: hub.url, artifact })[operation]()), { code: "redirect_loop" });
    t.ok(hub.to(operation).length <= 6, `${operation}: to and fro`);
  }
});

t.test("a redirect without a usable Location is refused", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  for (const location of ["ftp://example.com/", "http://", "javascript:alert(1)", "data:text/plain,x"]) {
    hub.answer("report", redirect(302, location));
    t.match(await errorOf(callers(t, { hubUrl: hub.url, artifact }).report()), { code: "redirect_invalid" }, location);
  }
  hub.answer("report", (response) => response.writeHead(302).end());
  t.match(await errorOf(callers(t, { hubUrl: hub.url, artifact }).report()), { code: "redirect_invalid" });
});

t.test("credentials do not cross to another origin, and bodies with secrets do not either", async (t) => {
  for (const status of [301, 302, 303, 307, 308]) {
    for (const operation of OPERATIONS) {
      const hub = await startLyingHub(t, { artifact });
      const thief = await startLyingHub(t, { artifact });
      hub.answer(
        operation,
        redirect(status, ({ path }) => thief.url + path),
      );
      const calls = callers(t, { hubUrl: hub.url, artifact });
      const outcome = await calls[operation]().then(
        () => "fine",
        (error: { code: string }) => error.code,
      );
      const what = `${operation} ${status}`;
      if (SECRET_BODIES.has(operation) && status !== 303) {
        t.equal(outcome, "redirect_origin", what);
        t.equal(thief.requests.length, 0, `${what}: the thief hears nothing`);
      } else if (status !== 303) t.equal(outcome, "fine", `${what}: followed`);
      for (const request of thief.requests) {
        const heard = JSON.stringify(request.headers) + request.body.toString("latin1") + request.path;
        for (const secret of [API_KEY, CREDENTIAL, "session-token", artifact.dek.toString("base64")])
          t.notOk(heard.includes(secret), `${what}: ${secret} stays here`);
      }
    }
  }
});

t.test("credentials do not come back when the other origin redirects home", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const other = await startLyingHub(t, { artifact });
  hub.answer(
    "latest",
    redirect(302, ({ path }) => other.url + path),
    json(200, { version: "1.0.0" }),
  );
  other.answer(
    "latest",
    redirect(302, ({ path }) => `${hub.url}${path}?home`),
  );
  await callers(t, { hubUrl: hub.url, artifact }).latest();
  t.strictSame(
    hub.to("latest").map(({ headers }) => headers.authorization),
    ["Bearer session-token", undefined],
  );
});

t.test("download_url gets no credential, neither on the hub's own origin nor across redirects", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const storage = await startLyingHub(t, { artifact });
  hub.answer("download", redirect(302, `${storage.url}/download`));
  await callers(t, { hubUrl: hub.url, artifact }).download();
  for (const { headers } of [...hub.to("download"), ...storage.to("download")]) {
    t.equal(headers["x-api-key"], undefined);
    t.equal(headers.authorization, undefined);
    t.equal(headers.cookie, undefined);
  }
  t.equal(storage.to("download").length, 1);
});

t.test("from https to http is never followed; from https to https is", async (t) => {
  const tls = trustedCertificate();
  for (const operation of OPERATIONS) {
    const secure = await startLyingHub(t, { artifact, tls });
    const plain = await startLyingHub(t, { artifact });
    secure.answer(
      operation,
      redirect(307, ({ path }) => plain.url + path),
    );
    const error = await errorOf(callers(t, { hubUrl: secure.url, artifact })[operation]());
    t.match(error, { code: "redirect_insecure", exitCode: 1 }, operation);
    t.equal(plain.requests.length, 0);
  }
  const secure = await startLyingHub(t, { artifact, tls });
  const other = await startLyingHub(t, { artifact, tls });
  secure.answer(
    "latest",
    redirect(307, ({ path }) => other.url + path),
  );
  await callers(t, { hubUrl: secure.url, artifact }).latest();
  t.equal(other.to("latest").length, 1);
});

t.test("a certificate that nobody trusts is a connection error, not a way in", async (t) => {
  const { getCACertificates, setDefaultCACertificates } = await import("node:tls");
  const before = getCACertificates("default");
  const tls = trustedCertificate();
  setDefaultCACertificates(before);
  const hub = await startLyingHub(t, { artifact, tls });
  t.match(await errorOf(callers(t, { hubUrl: hub.url, artifact }).auth()), {
    code: "connection_failed",
    exitCode: 75,
  });
  t.equal(hub.requests.length, 0);
});
