import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

// The server that `npm run dev` hands everything to that is not the page.
const server = process.env.LOCKSTEP_URL ?? "http://127.0.0.1:8888";

export default defineConfig({
  // The server has the page at / and its files below /assets, nowhere else.
  base: "/",
  resolve: {
    alias: {
      // The client's source itself: one build, and no second copy to be stale.
      "@lockstep-go/client": fileURLToPath(new URL("../clients/js/src/index.ts", import.meta.url)),
    },
    // The client lies outside this folder, and must not bring its own copies.
    dedupe: ["@ag-ui/client", "rxjs"],
  },
  build: {
    target: "es2022",
    outDir: "dist/www",
    emptyOutDir: true,
    assetsDir: "assets",
    // An inlined data: URL would need a hole in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "^/(?!src/|node_modules/|@|assets/|index\\.html)": {
        target: server,
        // The page itself comes from Vite, its requests go to the server.
        bypass: (request) => (request.headers.accept?.includes("text/html") ? "/index.html" : undefined),
      },
    },
  },
});
