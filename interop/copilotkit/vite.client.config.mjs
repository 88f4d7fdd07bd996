import { defineConfig } from "vite";

// clients/js from its source, without its dependencies: it is then used with the
// same copy of the official client as the runtime, as in an application.
export default defineConfig({
  build: {
    ssr: "../../clients/js/src/index.ts",
    outDir: "dist/client",
    target: "node20",
    rolldownOptions: { external: [/^@ag-ui\//, "rxjs"], output: { entryFileNames: "index.js" } },
  },
});
