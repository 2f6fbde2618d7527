import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Loaded into the measured process with `--import`; answers messages on the IPC channel. `stall`: reports the longest
// event loop delay since the last message, in ms. `collect`: collects garbage, so that resident memory is memory in use.

const resolutionMs = 1
const delay = monitorEventLoopDelay({ resolution: resolutionMs })
delay.enable()

function longestStallMs(): number {
  const ms = Math.max(0, delay.max / 1e6 - resolutionMs)
  delay.reset()
  return ms
}

function collect(): number {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (how: object) => void
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  return 0
}

process.on('message', (command) => {
  process.send?.(command === 'collect' ? collect() : longestStallMs())
})
// The channel must not keep the process alive.
process.channel?.unref()
