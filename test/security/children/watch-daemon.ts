import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import nodeProcess from 'node:process'
import { setTimeout } from 'node:timers/promises'

// Another caller of the daemon. It says when the first answer has come, and its observations at the end.

const [url, pid] = nodeProcess.argv.slice(2)
const ended = new AbortController()
let worstMs = 0
let mostBytes = 0

/** The resident memory of the daemon (Linux). Bytes. */
function residentBytes(): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}

/** The processor time of the daemon's main thread (Linux, 100 ticks a second). Ms. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function ask(): Promise<void> {
  return new Promise((resolve, reject) => {
    get(`${url}/healthz`, { agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      response.resume().once('end', resolve)
    }).once('error', reject)
  })
}

await ask()
mostBytes = residentBytes()
nodeProcess.once('message', () => ended.abort())
nodeProcess.send?.({ mostBytes })
while (!ended.signal.aborted) {
  const asked = performance.now()
  const used = cpuMs()
  await ask()
  // If other programs use the processors, the answer takes longer than the daemon works.
  worstMs = Math.max(worstMs, Math.min(performance.now() - asked, cpuMs() - used))
  mostBytes = Math.max(mostBytes, residentBytes())
  await setTimeout(30)
}
nodeProcess.send?.({ worstMs, mostBytes })
nodeProcess.disconnect()
