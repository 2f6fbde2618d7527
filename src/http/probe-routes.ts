import type { FastifyInstance } from 'fastify'

/**
 * Paths that clients look at to see whether anything is there: the base URL itself, and Claude Code's `HEAD /api/hello`.
 * They say no more than that.
 */
export function registerProbeRoutes(app: FastifyInstance): void {
  for (const path of ['/', '/api/hello']) {
    app.get(path, { config: { public: true, always: true } }, () => ({ ok: true, name: 'copilot-proxy' }))
  }
}
