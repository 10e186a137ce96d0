/* Records what a process does to the files below one directory. Only tests load it (with LD_PRELOAD).

   Every change is recorded after it was made, in order: new names, writes with their bytes, truncations, syncs, renames, links,
   removals. From the record `power.py` computes what a disk contains if the power fails at any moment. Writes through a memory
   map are not recorded; only the index of SQLite's log is written so, and it is created again at every start. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char root[PATH_MAX];
static size_t root_length;
static int record = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Start to record changes below a directory into a file elsewhere. */
void power_record(const char *directory, const char *file) {
    record = NEXT(open)(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    strncpy(root, directory, sizeof root - 1);
    root_length = record < 0 ? 0 : strlen(root);
}

static void put(const void *data, size_t size) {
    for (const char *at = data; size;) {
        ssize_t done = NEXT(write)(record, at, size);
        if (done < 0)
            abort(); /* a record with a gap would prove nothing */
        at += done;
        size -= (size_t)done;
    }
}

/* One entry: its kind, the inode, an offset or a second number, two paths and some bytes. */
static void put_entry(char kind, uint64_t inode, uint64_t number, const char *one, const char *other, const void *data, size_t size) {
    uint32_t first = (uint32_t)strlen(one), second = (uint32_t)strlen(other);
    uint64_t length = size;
    struct { uint64_t inode, number, length; uint32_t first, second; char kind, rest[7]; } head = {
        inode, number, length, first, second, kind, {0}};
    put(&head, sizeof head);
    put(one, first);
    put(other, second);
    put(data, size);
}

/* Some libraries rename files with a direct system call, which cannot be intercepted. So new files with the prefix of such a
   library's temporary files are checked at every change, and a rename is recorded when the old name is gone. */
#define MAX_TEMPORARY 64
#define TEMPORARY ".tmp"
static struct { uint64_t inode; char path[PATH_MAX]; } temporary[MAX_TEMPORARY];

static void record_unseen_renames(void) {
    for (int at = 0; at < MAX_TEMPORARY; at++) {
        struct stat found;
        if (!temporary[at].inode || (!lstat(temporary[at].path, &found) && found.st_ino == temporary[at].inode))
            continue;
        char folder_path[PATH_MAX], *name;
        snprintf(folder_path, sizeof folder_path, "%s", temporary[at].path);
        *(name = strrchr(folder_path, '/')) = 0;
        DIR *folder = opendir(folder_path);
        for (struct dirent *entry; folder && (entry = readdir(folder));)
            if (entry->d_ino == temporary[at].inode) {
                char path[2 * PATH_MAX];
                snprintf(path, sizeof path, "%s/%s", folder_path, entry->d_name);
                put_entry('r', 0, 0, temporary[at].path, path, "", 0);
            }
        if (folder)
            closedir(folder);
        temporary[at].inode = 0;
    }
}

static void remember_temporary(uint64_t inode, const char *path) {
    if (strncmp(strrchr(path, '/') + 1, TEMPORARY, strlen(TEMPORARY)))
        return;
    for (int at = 0; at < MAX_TEMPORARY; at++)
        if (!temporary[at].inode) {
            temporary[at].inode = inode;
            snprintf(temporary[at].path, sizeof temporary[at].path, "%s", path);
            return;
        }
    abort();
}

static void record_change(char kind, uint64_t inode, uint64_t number, const char *one, const char *other, const void *data, size_t size) {
    record_unseen_renames();
    put_entry(kind, inode, number, one, other, data, size);
    if (kind == 'c')
        remember_temporary(inode, one);
}

void power_mark(const char *word) {
    pthread_mutex_lock(&turn);
    record_change('!', 0, 0, word, "", "", 0);
    pthread_mutex_unlock(&turn);
}

static int is_ours(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static int path_of(int handle, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length >= 0;
}

static int path_at(int folder, const char *name, char *path) {
    if (name[0] == '/')
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    char base[PATH_MAX];
    if (folder == AT_FDCWD ? !getcwd(base, sizeof base) : !path_of(folder, base))
        return 0;
    return snprintf(path, PATH_MAX, "%s/%s", base, name) < PATH_MAX;
}

static int ours_at(int folder, const char *name, char *path) { return root_length && path_at(folder, name, path) && is_ours(path); }

static int ours(int handle, struct stat *found) {
    char path[PATH_MAX];
    return root_length && path_of(handle, path) && is_ours(path) && !fstat(handle, found);
}

/* Opening files */

static int open_recorded(int (*real)(int, const char *, int, ...), int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (!(flags & (O_CREAT | O_TRUNC)) || !ours_at(folder, name, path))
        return real(folder, name, flags, mode);
    pthread_mutex_lock(&turn);
    struct stat before, after;
    int was_there = !fstatat(folder, name, &before, 0);
    int handle = real(folder, name, flags, mode);
    if (handle >= 0 && !fstat(handle, &after) && S_ISREG(after.st_mode)) {
        if (!was_there)
            record_change('c', after.st_ino, 0, path, "", "", 0);
        else if (flags & O_TRUNC)
            record_change('t', after.st_ino, 0, "", "", "", 0);
    }
    pthread_mutex_unlock(&turn);
    return handle;
}

#define MODE(last) mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, last); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *name, int flags, ...) { MODE(flags) return open_recorded(NEXT(openat), AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) return open_recorded(NEXT(openat64), AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE(flags) return open_recorded(NEXT(openat), folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE(flags) return open_recorded(NEXT(openat64), folder, name, flags, mode); }

/* Writing */

static void record_write(int handle, const struct stat *found, off64_t at, ssize_t size, const void *data) {
    if (size <= 0)
        return;
    char *copy = NULL;
    if (!data) { /* the bytes are not known here (copied inside the kernel, or several buffers): read them back */
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
        int again = NEXT(open)(link, O_RDONLY | O_CLOEXEC);
        data = copy = malloc((size_t)size);
        if (again < 0 || !copy || pread(again, copy, (size_t)size, at) != size)
            abort();
        close(again);
    }
    record_change('w', found->st_ino, (uint64_t)at, "", "", data, (size_t)size);
    free(copy);
}

#define WRITING(name, parameters, arguments, data, offset) \
    ssize_t name parameters { \
        struct stat found; \
        if (!ours(handle, &found)) return NEXT(name) arguments; \
        pthread_mutex_lock(&turn); \
        ssize_t done = NEXT(name) arguments; \
        int failure = errno; \
        off64_t start = offset; \
        record_write(handle, &found, start, done, data); \
        pthread_mutex_unlock(&turn); \
        errno = failure; \
        return done; \
    }
#define HERE (lseek64(handle, 0, SEEK_CUR) - (done > 0 ? done : 0))
WRITING(write, (int handle, const void *data, size_t size), (handle, data, size), data, HERE)
WRITING(pwrite, (int handle, const void *data, size_t size, off_t at), (handle, data, size, at), data, at)
WRITING(pwrite64, (int handle, const void *data, size_t size, off64_t at), (handle, data, size, at), data, at)
WRITING(writev, (int handle, const struct iovec *parts, int number), (handle, parts, number), NULL, HERE)
WRITING(sendfile, (int handle, int from, off_t *at, size_t size), (handle, from, at, size), NULL, HERE)
WRITING(sendfile64, (int handle, int from, off64_t *at, size_t size), (handle, from, at, size), NULL, HERE)
WRITING(copy_file_range, (int from, off64_t *off, int handle, off64_t *at, size_t size, unsigned flags),
        (from, off, handle, at, size, flags), NULL, (at ? *at - (done > 0 ? done : 0) : HERE))

/* All other changes: made first, then recorded if they succeeded */

#define HANDLED(name, kind, parameters, arguments, number) \
    int name parameters { \
        struct stat found; \
        if (!ours(handle, &found)) return NEXT(name) arguments; \
        pthread_mutex_lock(&turn); \
        int done = NEXT(name) arguments; \
        if (!done) record_change(kind, found.st_ino, (uint64_t)(number), "", "", "", 0); \
        pthread_mutex_unlock(&turn); \
        return done; \
    }
HANDLED(ftruncate, 't', (int handle, off_t size), (handle, size), size)
HANDLED(ftruncate64, 't', (int handle, off64_t size), (handle, size), size)

/* A sync of a directory is recorded with the names in it. */
static void record_sync(int handle, const struct stat *found) {
    if (!S_ISDIR(found->st_mode)) {
        record_change('s', found->st_ino, 0, "", "", "", 0);
        return;
    }
    char link[64], *names = NULL;
    size_t size = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    DIR *folder = opendir(link);
    FILE *listing = open_memstream(&names, &size);
    if (!folder || !listing)
        abort();
    for (struct dirent *entry; (entry = readdir(folder));)
        fprintf(listing, "%ju %s%c", (uintmax_t)entry->d_ino, entry->d_name, 0);
    closedir(folder);
    fclose(listing);
    record_change('D', found->st_ino, 0, "", "", names, size);
    free(names);
}

#define SYNCING(name) \
    int name(int handle) { \
        struct stat found; \
        if (!ours(handle, &found)) return NEXT(name)(handle); \
        pthread_mutex_lock(&turn); \
        int done = NEXT(name)(handle); \
        if (!done) record_sync(handle, &found); \
        pthread_mutex_unlock(&turn); \
        return done; \
    }
SYNCING(fsync)
SYNCING(fdatasync)

#define NAMED(name, kind, folder, path, parameters, arguments) \
    int name parameters { \
        char path_buffer[PATH_MAX]; \
        struct stat found = {0}; \
        if (!ours_at(folder, path, path_buffer)) return NEXT(name) arguments; \
        pthread_mutex_lock(&turn); \
        int done = NEXT(name) arguments; \
        int failure = errno; \
        if (!done) { (void)fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW); record_change(kind, found.st_ino, 0, path_buffer, "", "", 0); } \
        pthread_mutex_unlock(&turn); \
        errno = failure; \
        return done; \
    }
NAMED(unlink, 'u', AT_FDCWD, path, (const char *path), (path))
NAMED(unlinkat, 'u', folder, path, (int folder, const char *path, int flags), (folder, path, flags))
NAMED(rmdir, 'u', AT_FDCWD, path, (const char *path), (path))
NAMED(mkdir, 'd', AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
NAMED(mkdirat, 'd', folder, path, (int folder, const char *path, mode_t mode), (folder, path, mode))

#define PAIRED(name, kind, source, from, folder, to, parameters, arguments) \
    int name parameters { \
        char old[PATH_MAX], new[PATH_MAX]; \
        if (!ours_at(folder, to, new) || !path_at(source, from, old)) return NEXT(name) arguments; \
        pthread_mutex_lock(&turn); \
        int done = NEXT(name) arguments; \
        int failure = errno; \
        if (!done) record_change(kind, 0, 0, old, new, "", 0); \
        pthread_mutex_unlock(&turn); \
        errno = failure; \
        return done; \
    }
PAIRED(rename, 'r', AT_FDCWD, from, AT_FDCWD, to, (const char *from, const char *to), (from, to))
PAIRED(renameat, 'r', source, from, folder, to, (int source, const char *from, int folder, const char *to), (source, from, folder, to))
PAIRED(renameat2, 'r', source, from, folder, to, (int source, const char *from, int folder, const char *to, unsigned flags),
       (source, from, folder, to, flags))
PAIRED(link, 'l', AT_FDCWD, from, AT_FDCWD, to, (const char *from, const char *to), (from, to))
PAIRED(linkat, 'l', source, from, folder, to, (int source, const char *from, int folder, const char *to, int flags),
       (source, from, folder, to, flags))
