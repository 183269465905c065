/** Thread that reads one large SBOM and answers with what it found; `bill-thread.ts` starts it. */
import { parentPort, workerData } from "node:worker_threads";
import { readBill } from "../../../artifact/statements/bill.ts";
import { SealiftError } from "../../../contract/errors.ts";
import type { BillAnswer } from "./bill-thread.ts";

void readBill(ReadableStream.from([workerData as Uint8Array]))
  .then(
    (facts): BillAnswer => ({ facts }),
    (error: unknown): BillAnswer => {
      if (error instanceof SealiftError && error.code === "statement_invalid") return { invalid: error.message };
      throw error;
    },
  )
  .then((answer) => parentPort!.postMessage(answer));
