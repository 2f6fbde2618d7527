import { z } from 'zod'
import type { Body } from './body.ts'

/**
 * `GET /providers` and `POST /token/rotate` on the port of the gateway, for `copilot-proxy gateway`: the programs that offer tools.
 * Providers, as the protocol calls them.
 */
export const programList = z.object({
  providers: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      session: z.object({ id: z.string(), name: z.string() }),
      tools: z.array(z.string()),
      /** Since the connection was opened. `dropped`: results that no call waited for. */
      calls: z.object({ pending: z.number(), ended: z.number(), failed: z.number(), dropped: z.number() }),
    }),
  ),
})
export type ProgramList = Body<typeof programList>
