import { together } from "../support/together.ts";

together("test/lib/runtime/**/*.test.ts");
