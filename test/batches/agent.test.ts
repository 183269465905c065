import { together } from "../support/together.ts";

together("test/lib/agent/**/*.test.ts");
