import { together } from "../support/together.ts";

together("test/commands/**/*.test.ts");
