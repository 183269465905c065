import { together } from "../support/together.ts";

together("test/lib/{client,fleet,mirror,publisher}/**/*.test.ts");
