import { z } from 'zod'
import type { Body } from './body.ts'

/** The number of one connection to a server. The daemon chooses it. */
const channel = z.int().min(1)

/** A JSON-RPC message between an MCP client and its server. It is not checked further here. */
const message = z.looseObject({ jsonrpc: z.literal('2.0') })

/** What a program that holds MCP servers sends: its servers first, once. */
export const relayInput = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('servers'),
    servers: z
      .array(
        z.object({
          name: z.string().min(1).max(100),
          /** Another text for another program or address of the name. */
          fingerprint: z.string().min(1).max(200),
        }),
      )
      .max(100),
  }),
  z.object({ type: z.literal('message'), channel, message }),
  /** The connection to the server has ended, or was not made. `reason`: a clause. */
  z.object({ type: z.literal('closed'), channel, reason: z.string().max(20_000) }),
])
export type RelayInput = Body<typeof relayInput>

/** What copilot-proxy sends. It is the client of the servers. */
export const relayOutput = z.discriminatedUnion('type', [
  /** The runs of the conversation have the servers from now on. */
  z.object({ type: z.literal('ready') }),
  /** Asks for a connection to a server. A program is started for it. */
  z.object({ type: z.literal('open'), channel, server: z.string() }),
  z.object({ type: z.literal('message'), channel, message }),
  /** The version of the protocol for the header of requests over HTTP. */
  z.object({ type: z.literal('version'), channel, version: z.string() }),
  /** Asks to end a connection. */
  z.object({ type: z.literal('close'), channel }),
  /** A sentence for the person, such as why a server does not work. */
  z.object({ type: z.literal('notice'), text: z.string() }),
])
export type RelayOutput = Body<typeof relayOutput>
