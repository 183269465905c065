import { Writable } from "node:stream";
import t from "tap";
import { channelLog } from "../../../../lib/runtime/guest/channel-log.ts";

const MIB = 1024 * 1024;

t.test("records that the runtime does not read are dropped, and counted when it reads again", async (t) => {
  const written: string[] = [];
  const waiting: (() => void)[] = [];
  const channel = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      waiting.push(done);
    },
  });
  const log = channelLog(channel, (header, body = "") => void channel.write(`${JSON.stringify(header)}${body}\n`));
  const count = 1000;
  for (let index = 0; index < count; index++) log("info", "x".repeat(9000), { index });
  t.ok(channel.writableLength < MIB + 10_000, `${channel.writableLength} bytes wait`);

  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    next();
    await new Promise(setImmediate);
  }
  const told = written.filter((line) => line.includes("were dropped"));
  t.equal(told.length, 1);
  const kept = written.length - 1;
  t.match(told[0], `"level":"warn","message":"${count - kept} log records were dropped`);
  t.match(written[0], `{"index":0}`);
  t.equal((JSON.parse(written[0]!.split('{"index"')[0]!) as { message: string }).message.length, 8192);

  log("info", "again", undefined);
  await new Promise(setImmediate);
  t.match(written.at(-1), "again");
});
