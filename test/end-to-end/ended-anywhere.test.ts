// Only in test:all: each program is ended at each of its points.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { forgedArtifact, forgedFrame, forgedSigner, projectTar } from "../support/forged/artifact.ts";
import { makeCertificate } from "../support/hub/certificate.ts";
import { type LyingHub, type Route, startLyingHub } from "../support/hub/lying-hub.ts";
import { json, startScripted } from "../support/hub/scripted-server.ts";
import { API_KEY, CREDENTIAL, PROJECT } from "../support/hub/surface-b.ts";
import { oddAnswer, startOdd } from "../support/odd-servers.ts";
import { builtFile } from "../support/programs/command-line.ts";

/** Milliseconds in which a run ends that is told to: two seconds, and one for the end of the process. */
const END_MS = 3000;
/** A machine so busy that a run takes long to get to its point is as slow afterwards, and gets so many times that. */
const SLOWNESS = 2;
/** Seconds. A run has to come as far as its report within the longer one, also on a busy machine. */
const [DEADLINE_S, LATE_DEADLINE_S] = [3, 25];
/** Runs at a time. */
const AT_ONCE = 4;

type Oddity = Parameters<typeof oddAnswer>[0];

interface Point {
  what: string;
  /** Makes the trouble. @returns further options, and what resolves once the run has got there */
  arrange(hub: LyingHub): Promise<{ args?: string[]; url?: string; there: Promise<unknown> }>;
  /** The work is done by then: only the report is not sent. */
  isDone?: boolean;
}

/** A route that is answered by an oddity. */
const route = (name: Route, oddity: Oddity): Point => ({
  what: `${name}: ${oddity}`,
  isDone: name === "report",
  arrange: async (hub) => {
    const there = Promise.withResolvers<void>();
    hub.answer(name, (...asked) => {
      there.resolve();
      oddAnswer(oddity)(...asked);
    });
    return { there: there.promise };
  },
});

/** A mirror that answers downloads by an oddity. */
const mirror = (t: Test, oddity: Oddity): Point => ({
  what: `mirror: ${oddity}`,
  arrange: async (hub) => {
    const there = Promise.withResolvers<void>();
    const odd = await startScripted(t, {
      routes: [],
      truth:
        () =>
        (...asked) => {
          there.resolve();
          oddAnswer(oddity)(...asked);
        },
    });
    // A mirror is asked for addresses of the hub's own form only.
    const { signature, publicKey } = hub.artifact;
    hub.answer(
      "location",
      json(200, {
        download_url: `${hub.url}/app/deploy/v1/downloads/art_1?expires=9999999999&signature=ab`,
        signature: signature.toString("base64"),
        signer_public_key: publicKey.toString("base64"),
      }),
    );
    return { args: ["--mirror", odd.url, "--least-rate", "0"], there: there.promise };
  },
});

/** A server that takes connections, and never speaks TLS. */
const connecting = (t: Test): Point => ({
  what: "connecting",
  arrange: async () => {
    const odd = await startOdd(t, "silence", makeCertificate());
    return { url: odd.url.replace("http:", "https:"), there: odd.connected };
  },
});

/** Deploys at a point of trouble, and ends the run. */
async function endAt(t: Test, point: Point, by: "SIGTERM" | "--deadline"): Promise<void> {
  const what = `${point.what}, ${by}`;
  const deadlineS = point.isDone === true ? LATE_DEADLINE_S : DEADLINE_S;
  const root = mkdtempSync(join(tmpdir(), "sealift-ended-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const signer = forgedSigner();
  const artifact = forgedArtifact(forgedFrame(projectTar({ projectId: PROJECT, version: "1.0.0" })), signer);
  const hub = await startLyingHub(t, { artifact });
  const { args = [], url = hub.url, there } = await point.arrange(hub);
  const words = [
    "--project-id",
    PROJECT,
    "--project-root",
    root,
    "--signer-public-key",
    signer.publicKey.toString("hex"),
  ];
  const deadline = by === "--deadline" ? ["--deadline", String(deadlineS)] : [];
  const env = { PATH: process.env.PATH, SEALIFT_API_KEY: API_KEY, SEALIFT_DEPLOYMENT_CREDENTIAL: CREDENTIAL };
  const began = performance.now();
  const program = [builtFile("deploy-project"), ...words, "--hub-url", url, ...args, ...deadline];
  const child = spawn(process.execPath, program, { env: { ...env, XDG_CONFIG_HOME: "/nowhere" } });
  t.teardown(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdout.resume();
  const ended = once(child, "close");
  await Promise.race([there, ended]);
  const endMs = END_MS + SLOWNESS * (performance.now() - began);
  const told = by === "SIGTERM" ? performance.now() : Math.max(began + deadlineS * 1000, performance.now());
  if (by === "SIGTERM") child.kill("SIGTERM");
  const [code] = (await ended) as [number];
  const took = performance.now() - told;
  const outcomes = { SIGTERM: [130, /\(interrupted\)/], "--deadline": [75, /\(deadline_exceeded\)/] } as const;
  const done = [0, /The hub's report could not be sent: [^.]+\. The next run tries again\./] as const;
  const [expected, says] = point.isDone === true ? done : outcomes[by];
  t.equal(code, expected, `${what}: ${said}`);
  t.match(said, says, what);
  t.ok(took < endMs, `${what}: ended ${Math.round(took)} of ${Math.round(endMs)} ms after it was told to`);
  if (point.isDone !== true) t.strictSame(readdirSync(root), [".sealift"], `${what}: nothing is installed`);
}

t.test(
  "a deployment ends soon after SIGTERM and --deadline, at any point of any exchange",
  { timeout: 300_000 },
  async (t) => {
    const silent: Route[] = ["report", "auth", "latest", "location", "authorize", "download"];
    const mirrored: Oddity[] = ["silence", "a head that drips", "a head and silence", "a body that drips"];
    const points: Point[] = [
      ...silent.map((name) => route(name, "silence")),
      connecting(t),
      route("auth", "half a head and silence"),
      route("latest", "a body that stops"),
      route("authorize", "a body that drips"),
      route("download", "a body that stops"),
      ...mirrored.map((oddity) => mirror(t, oddity)),
    ];
    const ends = ["--deadline", "SIGTERM"] as const;
    const jobs = points.flatMap((point) => ends.map((by) => ({ point, by }))).values();
    const worker = async (): Promise<void> => {
      for (const { point, by } of jobs) await endAt(t, point, by);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  },
);
