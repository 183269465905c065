import t from "tap";
import { Transfer } from "../../../lib/tui/transfer.ts";

t.test("the speed is that of the last seconds, and tells the time that is left", async (t) => {
  const transfer = new Transfer();
  t.equal(transfer.rate, undefined, "nothing is known at first");
  transfer.add(0, 0);
  transfer.add(100, 1000);
  t.equal(transfer.rate, undefined, "too little is known of a tenth of a second");
  transfer.add(1000, 10_000);
  t.equal(transfer.rate, 10_000);
  t.equal(transfer.remaining(30_000), 2000);
  t.equal(transfer.remaining(null), undefined, "nobody can tell without a size");
  for (let second = 2; second <= 20; second++) transfer.add(second * 1000, 10_000);
  t.equal(transfer.rate, 0, "a line that stalled is not as fast as it once was");
  t.equal(transfer.remaining(30_000), undefined);
  transfer.add(21_000, 40_000);
  t.equal(transfer.remaining(30_000), 0, "more than was announced leaves nothing");
});

t.test("the course of a transfer is its bytes by the second, for the last two minutes", async (t) => {
  const transfer = new Transfer();
  t.same(transfer.bytesPerSecond(5), []);
  transfer.add(10_000, 0);
  transfer.add(10_500, 100);
  transfer.add(10_900, 250);
  transfer.add(13_100, 300);
  t.same(transfer.bytesPerSecond(5), [250, 0, 0, 50]);
  t.same(transfer.bytesPerSecond(2), [0, 50]);
  transfer.add(13_200, 0);
  t.same(transfer.bytesPerSecond(1), [50], "a download that begins again takes nothing back");
  transfer.add(100_000_000, 7);
  t.equal(transfer.bytesPerSecond(1000).length, 120);
  t.same(transfer.bytesPerSecond(2), [0, 7]);
});
