import { together } from "../support/together.ts";

together("test/lib/{client,publisher}/**/*.test.ts");
