import { together } from "../support/together.ts";

together("test/golden/*.test.ts");
