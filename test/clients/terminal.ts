import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { onTestFinished } from 'vitest'
import type { ClientCommand } from './run-client.ts'

/** A client in a terminal of its own. */
export interface TerminalClient {
  readonly type: (keys: string) => void
  /** Resolves when the terminal has shown this since the last call; rejects if the client ends before. */
  readonly seen: (text: RegExp) => Promise<void>
  /** All that was shown, without control sequences. */
  readonly shown: () => string
}

/** What a terminal answers to the questions of a program. */
const answers: readonly (readonly [question: string, answer: string])[] = [
  ['\u001B[6n', '\u001B[1;1R'],
  ['\u001B[c', '\u001B[?62;c'],
]

/** Longer than any client takes to draw something. Ms. */
const patienceMs = 60_000

/** Starts a program in a pseudo terminal of 50 lines, which `script` of util-linux opens. It ends with the test. */
export function startInTerminal({ program, args, cwd, env }: Omit<ClientCommand, 'input'>): TerminalClient {
  const words = [program, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`)
  const line = `stty rows 50 cols 140; exec ${words.join(' ')}`
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    detached: true,
    stdio: 'pipe',
  })
  let output = ''
  let from = 0
  let hasEnded = false
  const listeners = new Set<() => void>()
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  child.stdin.on('error', () => {})
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    for (const [question, answer] of answers) if (text.includes(question)) child.stdin.write(answer)
    tell()
  })
  child.once('close', () => {
    hasEnded = true
    tell()
  })
  onTestFinished(() => {
    if (child.pid === undefined || hasEnded) return
    // `script` gives its terminal a session of its own, and a client may survive the end of that terminal.
    const sessions = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(/\s+/)
    for (const group of [...sessions.filter(Boolean), child.pid]) process.kill(-Number(group), 'SIGKILL')
  })
  return {
    type: (keys) => void child.stdin.write(keys),
    seen: async (text) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const check = (): void => {
        if (text.test(plain(output.slice(from)))) resolve()
        else if (hasEnded) reject(new Error(`The client ended:\n${plain(output)}`))
      }
      const timer = setTimeout(() => {
        reject(new Error(`The terminal did not show ${text}:\n${plain(output)}`))
      }, patienceMs)
      listeners.add(check)
      check()
      try {
        await promise
        from = output.length
      } finally {
        clearTimeout(timer)
        listeners.delete(check)
      }
    },
    shown: () => plain(output),
  }
}

/** A sequence that moves the cursor. */
const move = new RegExp(String.raw`${'\u001B'}\[[0-9;?]*[CGHf]`, 'g')

/** Without control sequences. A move of the cursor becomes a space. */
function plain(text: string): string {
  return stripVTControlCharacters(text.replaceAll(move, ' '))
}
