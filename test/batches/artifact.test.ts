import { together } from "../support/together.ts";

together("test/lib/artifact/**/*.test.ts");
