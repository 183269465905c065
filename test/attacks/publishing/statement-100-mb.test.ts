// Only in test:all: a document of 100 MB.
import { request } from "node:http";
import t from "tap";
import { isErrorBody, startHub, storedFiles } from "../../support/hub/harness.ts";
import { billOf, endorsed, state, statedProject, statementsPath } from "../../support/hub/statements.ts";

const MIB = 1024 * 1024;

t.test("100 MB of a statement are refused, whether their length is said or not", async (t) => {
  const hub = await startHub(t);
  const stated = await statedProject(hub);
  const files = (await storedFiles(hub)).length;
  const before = process.memoryUsage().rss;
  const large = Buffer.alloc(100 * MIB, " ");
  isErrorBody(t, await state(stated, "sbom", large, endorsed(stated, "sbom", Buffer.from("x"))), 413, "too_large");

  const status = await new Promise<number>((resolve, reject) => {
    const sending = request(
      hub.url + statementsPath(stated),
      {
        method: "POST",
        headers: { "x-api-key": hub.adminKey, "content-type": "multipart/form-data; boundary=b" },
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode!);
      },
    );
    sending.on("error", reject);
    sending.write('--b\r\nContent-Disposition: form-data; name="statement"; filename="x"\r\n\r\n');
    let left = 100;
    const more = (): void => {
      while (left-- > 0) if (!sending.write(large.subarray(0, MIB))) return void sending.once("drain", more);
      sending.end("\r\n--b--\r\n");
    };
    more();
  });
  t.equal(status, 413, "and a body without a length");

  for (const [kind, bytes] of Object.entries({ provenance: MIB + 1, urgent: 4097 })) {
    const padded = Buffer.alloc(bytes, " ");
    isErrorBody(t, await state(stated, kind, padded), 413, "too_large");
  }
  t.equal((await storedFiles(hub)).length, files, "nothing of it stays");
  t.ok(process.memoryUsage().rss - before < 600 * MIB, "beside what this test itself holds");
  t.equal((await state(stated, "sbom", billOf([{ name: "a" }]))).status, 201, "and the hub goes on");
});
