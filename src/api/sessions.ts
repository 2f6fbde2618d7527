import { z } from 'zod'
import type { Body } from './body.ts'
import { messageEntry, openRun } from './run.ts'

/** A session in `GET /sessions`: a configured workspace. */
const sessionEntry = z.object({
  id: z.string(),
  name: z.string(),
  path: z.string(),
  /** Names of the tools. */
  tools: z.array(z.string()),
  /** Those that the caller may see. */
  runs: z.array(openRun),
  /** What holds for its commands. */
  /** `read-only` of the workspace. `locked`: also, no tool of another program is called. */
  readOnly: z.union([z.boolean(), z.literal('locked')]),
  sandbox: z.object({
    setting: z.enum(['auto', 'required', 'off']),
    holds: z.enum(['bubblewrap', 'none']),
    /** One sentence. */
    description: z.string(),
  }),
})
export type SessionEntry = Body<typeof sessionEntry>

/** `GET /sessions`. */
export const sessionList = z.object({ sessions: z.array(sessionEntry) })
export type SessionList = Body<typeof sessionList>

/** `GET /sessions/{id}/policy`: what is allowed in a workspace. `mcp.policy.get` also has the patterns of protected files. */
export const sessionPolicy = z.object({
  /** The policy files in force, relative to the workspace. */
  files: z.array(z.string()),
  /** Those that grant nothing, because no person has confirmed them as they are. */
  unconfirmed: z.array(z.string()),
  /** The rules of the root's policy. */
  reads: z.object({ allow: z.array(z.string()), deny: z.array(z.string()) }),
  writes: z.object({ allow: z.array(z.string()), deny: z.array(z.string()) }),
  shell: z.object({ allow: z.array(z.string()), network: z.array(z.string()) }),
  /** What a person has allowed the agent for good. */
  always: z.array(z.string()),
  /** Why a policy file, or what a person has allowed, grants nothing. */
  problem: z.string().optional(),
})
export type SessionPolicy = Body<typeof sessionPolicy>

/** A conversation of a session: a run knows the earlier messages of its conversation alone. */
export const conversationEntry = z.object({
  id: z.string(),
  /** Proposed from the first message until somebody renames it; '' without a message. */
  title: z.string(),
  /** ISO 8601. */
  createdAt: z.string(),
  /** When its last message was sent. Absent without a message. */
  lastMessageAt: z.string().optional(),
  /** Whether the caller may send messages to it. Nobody continues what another key has begun: a fork of it can be continued. */
  isOwn: z.boolean(),
})
export type ConversationEntry = Body<typeof conversationEntry>

/** `GET /sessions/{id}/conversations`: the one that was used last is first. */
export const conversationList = z.object({ conversations: z.array(conversationEntry) })
export type ConversationList = Body<typeof conversationList>

/** `GET /sessions/{id}/messages`, oldest first. */
export const messageList = z.object({ messages: z.array(messageEntry) })
export type MessageList = Body<typeof messageList>

const streamSummary = z.object({ name: z.string(), entries: z.number(), lastTime: z.string() })
export type StreamSummary = Body<typeof streamSummary>

/** `GET /sessions/{id}/streams`. */
export const streamList = z.object({ streams: z.array(streamSummary) })
export type StreamList = Body<typeof streamList>

/** Entries of `tool-calls` have the fields of an audit line instead of those of a text that a provider has sent. */
export const streamEntry = z.looseObject({
  id: z.string(),
  /** ISO 8601. */
  time: z.string(),
  provider: z.string().optional(),
  level: z.enum(['keep', 'surface', 'inject']).optional(),
  text: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
export type StreamEntry = Body<typeof streamEntry>

/** `GET /sessions/{id}/streams/{name}`. */
export const entryList = z.object({ entries: z.array(streamEntry) })
export type EntryList = Body<typeof entryList>

const described = { name: z.string(), description: z.string().optional() }
const resources = z.array(z.object({ ...described, uri: z.string().optional() }))
const promptArguments = z.array(z.object({ ...described, required: z.boolean().optional() }))
const prompt = z.object({ ...described, arguments: promptArguments.optional() })

const serverEntry = z.object({
  name: z.string(),
  state: z.enum(['stopped', 'starting', 'running', 'failed']),
  /** The reason of the failure. */
  error: z.string().optional(),
  /** Why tools are left out. */
  problems: z.array(z.string()).optional(),
  /** Names of the tools. */
  tools: z.array(z.string()),
  resources,
  /** Their addresses have names in braces to fill in. */
  templates: resources,
  prompts: z.array(prompt),
})
export type ServerEntry = Body<typeof serverEntry>

/** `GET /sessions/{id}/servers`. */
export const serverList = z.object({ servers: z.array(serverEntry) })
export type ServerList = Body<typeof serverList>

/** `GET /sessions/{id}/files`: the first ones by name, which a message can name as `@path`. */
export const fileList = z.object({
  files: z.array(z.string()),
  /** Whether there may be more. */
  truncated: z.boolean(),
})
export type FileList = Body<typeof fileList>

/** `GET /sessions/{id}/prompts`: a message that starts with `/server:name` uses one. */
export const promptList = z.object({ prompts: z.array(prompt.extend({ server: z.string() })) })
export type PromptList = Body<typeof promptList>
