import type { FastifyRequest } from "fastify";
import t from "tap";
import { publishFields } from "../../../lib/contract/surfaces/deploy.ts";
import type { IncomingBlob } from "../../../lib/hub/blobs/port.ts";
import { PassingSignature } from "../../../lib/hub/publications/passing-signature.ts";
import {
  createProject,
  isErrorBody,
  type Publication,
  publication,
  publishForm,
  startHub,
  storedFiles,
} from "../../support/hub/harness.ts";

const HEADER = "x-sealift-signature-start";
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const startOf = ({ signature, publicKey }: Publication): string =>
  base64(Buffer.concat([signature.subarray(0, 32), publicKey]));

t.test("a header that says how the signature begins must agree with the fields, and decides nothing", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const publish = (what: Publication, start: string, fileFirst: boolean) =>
    hub.call("POST", `/app/deploy/v1/projects/${project.id}/publish`, {
      ...{ key: project.key, headers: { [HEADER]: start } },
      form: publishForm(what, { fileFirst }),
    });
  for (const fileFirst of [true, false]) {
    const what = publication("1.0.0", { size: 300_000 });
    const start = startOf(what);
    const other = publication("1.0.0");
    for (const [why, wrong] of Object.entries({
      "another R and key": startOf(other),
      "another R": startOf({ ...what, signature: other.signature }),
      "another key": startOf({ ...what, publicKey: other.publicKey }),
      "too short": base64(Buffer.alloc(63)),
      "no base64": "%%%",
      "two of them": `${start}, ${start}`,
      nothing: "",
    })) {
      const answer = await publish(what, wrong, fileFirst);
      isErrorBody(t, answer, 422, "unprocessable");
      t.match(answer.body.error, /X-Sealift-Signature-Start/, why);
    }
    const flipped = { ...what, bytes: Buffer.from(what.bytes) };
    flipped.bytes[500]! ^= 1;
    isErrorBody(t, await publish(flipped, start, fileFirst), 400, "signature_rejected");
    const otherS = { ...what, signature: Buffer.concat([what.signature.subarray(0, 32), Buffer.alloc(32, 1)]) };
    isErrorBody(t, await publish(otherS, start, fileFirst), 400, "signature_rejected");
    t.strictSame(await storedFiles(hub), [], "nothing is kept");
  }
  for (const [version, fileFirst] of [
    ["1.0.0", true],
    ["1.0.1", false],
  ] as const) {
    const what = publication(version, { size: 300_000 });
    t.equal((await publish(what, startOf(what), fileFirst)).status, 201);
  }
});

t.test("a file is read once more only when nothing told how its signature begins", async (t) => {
  const what = publication("1.0.0");
  const fields = { signature: base64(what.signature), signer_public_key: base64(what.publicKey) };
  let reads = 0;
  const blob = {
    async *readBack() {
      reads++;
      yield await Promise.resolve(what.bytes);
    },
  } as unknown as IncomingBlob;
  const receive = async (headers: Record<string, string>, before: Record<string, string>): Promise<number> => {
    reads = 0;
    const signature = new PassingSignature({ headers } as unknown as FastifyRequest, publishFields);
    signature.begin(before)?.(what.bytes);
    await signature.check(fields, blob);
    return reads;
  };
  t.equal(await receive({ [HEADER]: startOf(what) }, {}), 0, "a header");
  t.equal(await receive({}, fields), 0, "fields in front of the file");
  t.equal(await receive({}, {}), 1, "neither");
});
