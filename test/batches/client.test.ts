import { together } from "../support/together.ts";

together("test/lib/{client,mirror,publisher}/**/*.test.ts");
