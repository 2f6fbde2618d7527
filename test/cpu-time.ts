/** The processor time of this thread so far: unlike the clock, it does not run while other programs use the machine. Ms. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
