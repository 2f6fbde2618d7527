// Options and arguments of each command; `program.ts` declares them.

import type { ClientId } from '../../client-settings/clients.ts'
import type { SnippetId } from '../../client-settings/snippets.ts'

interface GlobalFlags {
  /** As written; undefined: the default path. */
  readonly config?: string | undefined
}

export interface ReportFlags extends GlobalFlags {
  readonly json?: true
}

export interface DoctorFlags extends ReportFlags {
  readonly cache?: true
}

export interface UsageFlags extends ReportFlags {
  readonly line?: true
  /** Rows of the totals. */
  readonly by: 'model' | 'key' | 'day'
}

export interface KeyFlags extends ReportFlags {
  readonly name: string | undefined
}

export interface LogsFlags extends ReportFlags {
  readonly follow?: true
  readonly lines: string
}

export interface ServiceFlags extends ReportFlags {
  readonly dryRun?: true
}

export interface LoginFlags extends GlobalFlags {
  readonly provider: string
  /** False after `--no-browser`. */
  readonly browser: boolean
  readonly device?: true
  readonly tokenStdin?: true
  readonly host?: string
  readonly web?: true
}

export interface LogoutFlags extends GlobalFlags {
  readonly provider: string | undefined
  readonly all?: true
}

export interface ServeFlags extends GlobalFlags {
  readonly port?: string | undefined
  readonly host?: string | undefined
  readonly demo?: true | undefined
  readonly logLevel?: string | undefined
  readonly logFormat?: string | undefined
  readonly detach?: true
  /** Only with `detach`. */
  readonly json?: true
  /** Set in a process that was started as the background daemon; it writes its log and record into the state folder. */
  readonly background?: BackgroundStarter
}

/** This program itself (`serve --detach`), or the service manager of the system. */
export type BackgroundStarter = 'detach' | 'service'

export interface LaunchFlags extends GlobalFlags {
  readonly client: ClientId
  readonly demo?: true
  readonly model?: string
  /** Passed to the client unchanged. */
  readonly args: readonly string[]
}

export interface SetupFlags extends GlobalFlags {
  readonly client: SnippetId
  readonly model?: string
  readonly dryRun?: true
  readonly undo?: true
  readonly yes?: true
  readonly print?: true
}
