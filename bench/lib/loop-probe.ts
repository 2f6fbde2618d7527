import { monitorEventLoopDelay } from 'node:perf_hooks'

// Loaded into the measured process with `--import`: tells, when asked over the IPC channel, the longest time its event
// loop was late since the last question. Ms.

const resolutionMs = 1
const delay = monitorEventLoopDelay({ resolution: resolutionMs })
delay.enable()

process.on('message', () => {
  process.send?.(Math.max(0, delay.max / 1e6 - resolutionMs))
  delay.reset()
})
// The channel must not keep the process alive.
process.channel?.unref()
