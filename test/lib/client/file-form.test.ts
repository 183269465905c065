import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type FileForm, formBody, wholeFile } from "../../../lib/client/file-form.ts";

const part = { name: "artifact", filename: 'a "b"\r\n.bin', contentType: "application/octet-stream" };

/** The form as Node's own parser reads it. */
async function parsed(form: FileForm): Promise<{ form: FormData; bytes: Buffer; length: number | undefined }> {
  const { bytes, contentType, length } = formBody(form);
  const body = Buffer.concat(await Array.fromAsync(bytes));
  return {
    form: await new Response(body, { headers: { "content-type": contentType } }).formData(),
    bytes: body,
    length,
  };
}

t.test("a form is read by another parser, and is as long as it says", async (t) => {
  const folder = t.testdir({});
  for (const size of [0, 1, 700_000]) {
    const path = join(folder, `${size}`);
    const content = randomBytes(size);
    writeFileSync(path, content);
    const sent: [number, number | undefined][] = [];
    const file = await wholeFile(path);
    const { form, bytes, length } = await parsed({
      ...{ part, file, fields: { version: "1.0.0", project_name: 'D\u00e9mo "x"\nof two lines' } },
      onSent: (...progress) => sent.push(progress),
    });
    t.equal(length, bytes.length);
    t.equal(form.get("version"), "1.0.0");
    t.equal(form.get("project_name"), 'D\u00e9mo "x"\nof two lines');
    const found = form.get("artifact") as File;
    t.equal(found.type, "application/octet-stream");
    t.ok(Buffer.from(await found.arrayBuffer()).equals(content), `${size} bytes`);
    if (size > 0) t.strictSame(sent.at(-1), [size, size]);
  }
});

t.test("fields that are known later follow the file, and the form has no length", async (t) => {
  const path = join(t.testdir({ file: "content" }), "file");
  let read = false;
  const whole = await wholeFile(path);
  const file = {
    total: undefined,
    async *read() {
      yield* whole.read();
      read = true;
    },
  };
  const later = async () => {
    t.ok(read, "they are asked for behind the last byte");
    return { signature: "s" };
  };
  const { form, bytes, length } = await parsed({ part, file, fields: { version: "1.0.0" }, later });
  t.equal(length, undefined);
  t.strictSame([...form.keys()], ["version", "artifact", "signature"]);
  t.ok(bytes.includes("content"));
});
