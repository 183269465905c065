import { together } from "../support/together.ts";

together("test/attacks/runtime/*.test.ts");
