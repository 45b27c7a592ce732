/* A session's lock_timeout cannot be asked for by another session, and code inside a function can change it and change
   it back. The server reads the clock whenever it begins to wait for a lock. This writes the value that is in force
   then to the server's log, if it is another one than before: one line with the process, as other lines have it. */
#include <errno.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern int LockTimeout __attribute__((weak));

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  static pid_t said_by;
  static int said;
  int before = errno;
  struct timespec clock;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &clock);
  now->tv_sec = clock.tv_sec;
  now->tv_usec = clock.tv_nsec / 1000;
  if (&LockTimeout != NULL && (said != LockTimeout || said_by != getpid())) {
    said = LockTimeout;
    said_by = getpid();
    dprintf(2, "%d|lock_timeout:  %d\n", (int)said_by, said);
  }
  errno = before;
  return 0;
}
