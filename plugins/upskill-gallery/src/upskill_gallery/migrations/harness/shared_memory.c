/* PostgreSQL asks for one small System V shared memory segment and has no setting against it. The sandbox has no such
   memory. This gives the postmaster an anonymous shared mapping instead; its children inherit it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/shm.h>

static size_t length;

int shmget(key_t key, size_t size, int flags) {
  (void)key;
  (void)flags;
  length = size;
  return 1;
}

void *shmat(int id, const void *address, int flags) {
  (void)id;
  (void)address;
  (void)flags;
  return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int shmdt(const void *address) {
  (void)address;
  return 0;
}

/* No segment of an earlier server exists: a data folder is used by one server in its life. */
int shmctl(int id, int command, struct shmid_ds *result) {
  (void)id;
  (void)result;
  if (command == IPC_RMID) return 0;
  errno = EINVAL;
  return -1;
}
