import { defineConfig } from "vite";

export default defineConfig({
  // CopilotKit's packages read it in the browser, where there is no process.
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: { outDir: "dist/page", chunkSizeWarningLimit: 20_000, reportCompressedSize: false },
});
